// From the turns on the page to the messages of a request.

/** messages lists what the model is to be told: the system prompt, then every turn that said something, reasoning included. */
export function messages(turns, system) {
  const out = [];
  if (system.trim() !== '') out.push({ role: 'system', content: system });
  for (const t of turns) {
    if (t.role === 'user') out.push({ role: 'user', content: t.content });
    else if (t.role === 'tool') out.push({ role: 'tool', tool_call_id: t.call, content: t.content });
    else {
      const calls = t.calls.filter((c) => isObject(c.args)); // a call that was cut is no call
      if (t.content === '' && t.reasoning === '' && calls.length === 0) continue;
      const m = { role: 'assistant', content: t.content };
      if (t.reasoning !== '') m.reasoning_content = t.reasoning;
      if (calls.length > 0) m.tool_calls = calls.map((c) => ({ id: c.id, type: 'function', function: { name: c.name, arguments: c.args } }));
      out.push(m);
    }
  }
  return out;
}

function isObject(text) {
  try {
    const v = JSON.parse(text);
    return v !== null && typeof v === 'object' && !Array.isArray(v);
  } catch {
    return false;
  }
}

/** body is a request as JSON text. The seed (decimal text, '' for none) is spliced in: it has 64 bits, a number here has 53. */
export function body(fields, seed) {
  const text = JSON.stringify({ ...fields, stream: true, stream_options: { include_usage: true } });
  return seed === '' ? text : `${text.slice(0, -1)},"seed":${BigInt(seed)}}`;
}
