// Making elements. Text goes in as text nodes only: nothing here or elsewhere parses HTML.

/** byId returns the element of that id; the page has all of them. */
export const byId = (id) => document.getElementById(id);

/**
 * el makes an element. props: class, text, data (object), on (object of listeners); any other name is an attribute,
 * left out when its value is null, undefined or false.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name === 'text') node.textContent = value;
    else if (name === 'data') Object.assign(node.dataset, value);
    else if (name === 'on') for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

/** setText writes only what changed, so that selections and live regions are left alone. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** setAttr writes an attribute only when it changed; null takes it away. */
export function setAttr(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** copy puts text on the clipboard and says so on the button. Pages without a secure origin have no clipboard object. */
export async function copy(text, button) {
  const label = button.textContent;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'sr', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = done ? 'Copied' : 'Not copied';
  setTimeout(() => { button.textContent = label; }, 1200);
}
