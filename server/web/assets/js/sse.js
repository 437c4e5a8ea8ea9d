// Server-sent events from a fetch body. EventSource can neither send a key nor a POST.

/**
 * EventParser takes text cut anywhere and calls onEvent({event, data}) for every complete event and onComment(text) for
 * comment lines, which the server uses for progress. Lines end with LF, CRLF or CR.
 */
export class EventParser {
  #line = '';
  #data = [];
  #event = '';
  #afterCR = false;
  #fresh = true;

  constructor({ onEvent, onComment = () => {} }) {
    this.onEvent = onEvent;
    this.onComment = onComment;
  }

  push(text) {
    if (text === '') return;
    if (this.#fresh) {
      this.#fresh = false;
      if (text.startsWith('\ufeff')) text = text.slice(1);
    }
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c !== 10 && c !== 13) {
        this.#afterCR = false;
        continue;
      }
      if (c === 10 && this.#afterCR) { // the second half of a CRLF
        this.#afterCR = false;
        from = i + 1;
        continue;
      }
      this.#take(this.#line + text.slice(from, i));
      this.#line = '';
      from = i + 1;
      this.#afterCR = c === 13;
    }
    this.#line += text.slice(from);
  }

  #take(line) {
    if (line === '') {
      if (this.#data.length > 0) this.onEvent({ event: this.#event || 'message', data: this.#data.join('\n') });
      this.#data = [];
      this.#event = '';
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) {
      this.onComment(line.slice(1).trimStart());
      return;
    }
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
  }
}

/** readEvents feeds a byte stream to the handlers until it ends. A handler that throws ends the reading with its error. */
export async function readEvents(stream, handlers) {
  const parser = new EventParser(handlers);
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.push(decoder.decode(value, { stream: true }));
    }
    parser.push(decoder.decode());
  } finally {
    reader.cancel().catch(() => {}); // frees the connection when a handler threw
  }
}
