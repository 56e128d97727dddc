import { h } from './elements.js'
import { operationView } from './operation.js'

const main = document.getElementById('main')
const introduction = document.getElementById('introduction')
const search = document.getElementById('search')
const token = document.getElementById('token')
const sections = [...document.querySelectorAll('nav section')]

/** Loaded immediately, while the list can already be read. */
const loading = fetch(document.body.dataset.document).then((response) => response.json())

/** Finds an operation by its id. */
function find(root, id) {
  for (const [path, methods] of Object.entries(root.paths))
    for (const [method, operation] of Object.entries(methods)) if (operation.operationId === id) return { method, path, operation }
  return undefined
}

async function show() {
  const id = decodeURIComponent(location.hash.slice(1))
  for (const link of document.querySelectorAll('nav a[aria-current]')) link.removeAttribute('aria-current')
  document.body.classList.toggle('reading', id !== '')
  if (!id) return main.replaceChildren(introduction)
  try {
    const root = await loading
    const found = find(root, id)
    if (!found) return main.replaceChildren(h('p', {}, 'There is no such operation.'))
    const link = document.querySelector(`nav a[href="#${CSS.escape(id)}"]`)
    link?.setAttribute('aria-current', 'page')
    link?.scrollIntoView({ block: 'nearest' })
    main.replaceChildren(operationView({ root, ...found, token: () => token.value.trim() }))
    scrollTo(0, 0)
    main.focus({ preventScroll: true })
  } catch (error) {
    main.replaceChildren(h('p', { class: 'bad' }, `The document could not be loaded: ${error.message}`))
  }
}

/** Leaves the operations that have all words, in their name, path, method or subject. */
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
  let any = false
  for (const section of sections) {
    const subject = section.querySelector('h2').textContent
    let left = false
    for (const item of section.querySelectorAll('li')) {
      const text = `${subject} ${item.textContent}`.toLowerCase()
      item.hidden = !words.every((word) => text.includes(word))
      left ||= !item.hidden
    }
    section.hidden = !left
    any ||= left
  }
  document.getElementById('nothing').hidden = any
  if (words.length > 0) document.body.classList.remove('reading')
}

addEventListener('hashchange', show)
search.addEventListener('input', filter)
document.querySelector('nav').addEventListener('click', (event) => {
  if (event.target.closest('a')?.hash === location.hash) void show()
})
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.closest('input, textarea, select')) return
  event.preventDefault()
  search.focus()
})
filter()
void show()
