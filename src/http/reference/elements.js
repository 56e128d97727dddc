/** Creates an element with attributes, listeners (`on…`) and children; texts are never HTML. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else element.setAttribute(key, value === true ? '' : value)
  }
  element.append(...children.flat(Number.POSITIVE_INFINITY).filter((child) => child !== undefined && child !== null && child !== false))
  return element
}

/** A line of text in which the parts between backticks become code. */
export const line = (text = '') => text.split('`').map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part))

/** A code block with a copy button. */
export function codeBlock(text, label) {
  const button = h('button', { type: 'button', class: 'copy', onclick: () => copy(button, text) }, 'Copy')
  return h('div', { class: 'code' }, button, h('pre', { tabindex: '0', 'aria-label': label }, h('code', {}, text)))
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text)
  button.textContent = 'Copied'
  button.addEventListener('blur', () => (button.textContent = 'Copy'), { once: true })
}

export const pretty = (value) => JSON.stringify(value, null, 2)
