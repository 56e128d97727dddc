// What finds files, branches and tags, and what the search offers. The page script loads it when one of these is used.

/** Matches that are shown, and milliseconds after a key before a server is asked. */
const MAX_SHOWN = 50
const PAUSE = 150

const texts = JSON.parse(document.querySelector('script[data-texts]')?.dataset.texts ?? '{}')
/** A text in the language of the page. */
const say = (text) => texts[text] ?? text

const make = (name, properties, attributes = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

let made = 0
/** What Enter does in each field that is a combobox. */
const attached = new WeakMap()

/** Makes a field a combobox: below it stands what `find` answers for its text; arrows choose, Enter opens. */
export function attach(field) {
  if (attached.has(field)) return attached.get(field)
  const { form } = field
  const { finder } = field.dataset
  const isFiles = finder === 'files'
  // in the search at the top, Enter searches unless something is chosen
  const isSearch = form.matches('.top form')
  const id = `choices-${++made}`
  const list = make('div', { id, className: 'offers' }, { role: 'listbox', 'aria-label': field.ariaLabel })
  const status = make('p', { className: 'dim' }, { role: 'status' })
  const panel = make('div', { className: 'panel', hidden: isSearch }, {}, list, status)
  const found = form.parentElement.parentElement?.querySelector('[data-found]')
  if (found) found.replaceChildren(panel)
  else form.append(panel)
  for (const [name, value] of Object.entries({ role: 'combobox', autocomplete: 'off', 'aria-autocomplete': 'list', 'aria-controls': id }))
    field.setAttribute(name, value)

  let chosen = -1
  const options = () => [...list.querySelectorAll('[role=option]')]
  const choose = (at) => {
    const all = options()
    // round and round; in the search, nothing is chosen between the last and the first
    const none = isSearch ? 1 : 0
    const size = all.length + none
    chosen = all.length === 0 ? -1 : ((at + none + size) % size) - none
    for (const [i, option] of all.entries()) option.setAttribute('aria-selected', String(i === chosen))
    if (chosen >= 0) field.setAttribute('aria-activedescendant', all[chosen].id)
    else field.removeAttribute('aria-activedescendant')
    all[chosen]?.scrollIntoView({ block: 'nearest' })
  }
  const show = (isShown) => {
    if (isSearch) panel.hidden = !isShown
    field.setAttribute('aria-expanded', String(!panel.hidden && options().length > 0))
  }

  const find = isFiles ? filesOf(form.action) : choicesOf(finder)
  let turn = 0
  let asking = Promise.resolve()
  const ask = (pause) => {
    const mine = ++turn
    asking = (async () => {
      if (pause > 0) await new Promise((done) => setTimeout(done, pause))
      if (mine !== turn) return
      const { nodes, text } = await find(field.value.trim()).catch(() => ({
        nodes: [],
        text: say('This could not be looked for. Press Enter to try again.'),
      }))
      if (mine !== turn) return
      list.replaceChildren(...nodes)
      for (const [i, option] of options().entries()) option.id = `${id}-${i}`
      status.textContent = text
      choose(isSearch ? -1 : 0)
      show(field.value.trim() !== '')
    })()
    return asking
  }

  const open = async () => {
    // what was typed last counts
    let last
    do {
      last = asking
      await last
    } while (last !== asking)
    const option = options()[chosen]
    if (option) option.click()
    else void ask(0)
  }
  attached.set(field, open)
  field.addEventListener('input', () => ask(isFiles ? 0 : PAUSE))
  field.addEventListener('keydown', (event) => {
    if (event.isComposing) return
    const { key } = event
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault()
      if (panel.hidden && options().length > 0) show(true)
      choose(chosen + (key === 'ArrowDown' ? 1 : -1))
    } else if (key === 'Enter' && !isSearch) {
      event.preventDefault()
      void open()
    } else if (key === 'Enter' && chosen >= 0 && !panel.hidden) {
      event.preventDefault()
      options()[chosen].click()
    } else if (key === 'Escape' && isSearch) {
      event.preventDefault()
      if (panel.hidden) field.blur()
      else show(false)
    }
  })
  if (isSearch) {
    field.addEventListener('blur', () => show(false))
    field.addEventListener('focus', () => show(field.value.trim() !== '' && options().length > 0))
    // a click keeps the focus, and so the panel
    panel.addEventListener('mousedown', (event) => event.preventDefault())
  }
  if (!isSearch || field.value !== '') void ask(0)
  return open
}

/** Asks the server, which answers groups of options and a sentence. */
function choicesOf(address) {
  let asking
  return async (search) => {
    asking?.abort()
    asking = new AbortController()
    const url = new URL(address, location.href)
    url.searchParams.set('search', search)
    if (search === '' && url.pathname.endsWith('/suggestions')) return { nodes: [], text: '' }
    const answer = await fetch(url, { signal: asking.signal, headers: { accept: 'text/html' } })
    if (!answer.ok) throw new Error(String(answer.status))
    const { body } = new DOMParser().parseFromString(await answer.text(), 'text/html')
    return { nodes: [...body.querySelectorAll('[role=group]')], text: body.querySelector('p')?.textContent ?? '' }
  }
}

/** The position of each letter of a text, in their order; null if they are not all there. */
function lettersIn(text, wanted, from = 0) {
  const at = []
  let next = from
  for (let i = 0; i < wanted.length; i++) {
    next = text.indexOf(wanted[i], next)
    if (next < 0) return null
    at.push(next++)
  }
  return at
}

/** How well a path matches, as the page without scripts ranks it, and the positions to mark; null if not at all. */
function match(text, wanted) {
  const name = text.lastIndexOf('/') + 1
  const whole = (rank, at) => ({ rank, at: Array.from(wanted, (_, i) => at + i) })
  const inName = text.indexOf(wanted, name)
  if (inName >= 0) return whole(inName === name ? 0 : 1, inName)
  const inPath = text.indexOf(wanted)
  if (inPath >= 0) return whole(2, inPath)
  const letters = lettersIn(text, wanted, name)
  if (letters) return { rank: 3, at: letters }
  const all = lettersIn(text, wanted)
  return all && { rank: 4, at: all }
}

/** Filters the files of a revision, whose list is loaded once. */
function filesOf(address) {
  let loading
  const load = async () => {
    const url = new URL(address)
    url.searchParams.set('list', 'true')
    const answer = await fetch(url, { headers: { accept: 'application/json, text/html' } })
    if (!answer.ok) throw new Error(String(answer.status))
    const { before, files, bound } = await answer.json()
    const all = files.map((file) => {
      const [path, to] = typeof file === 'string' ? [file, file.split('/').map(encodeURIComponent).join('/')] : file
      const lower = path.toLowerCase()
      // a letter that changes its length with its case would move the marks
      return { path, to: before + to, text: lower.length === path.length ? lower : path }
    })
    return { all, bound }
  }
  return async (typed) => {
    loading ??= load().catch((error) => {
      loading = undefined
      throw error
    })
    const { all, bound } = await loading
    const wanted = typed.toLowerCase().replace(/\s+/g, '')
    const ranks = [[], [], [], [], []]
    for (const file of all) {
      const found = match(file.text, wanted)
      if (found) ranks[found.rank].push({ ...file, at: found.at })
    }
    const total = ranks.reduce((sum, { length }) => sum + length, 0)
    const shown = []
    for (const rank of ranks) {
      if (shown.length >= MAX_SHOWN) break
      rank.sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
      shown.push(...rank.slice(0, MAX_SHOWN - shown.length))
    }
    const nodes = shown.map(({ path, to, at }) => make('a', { href: to, tabIndex: -1 }, { role: 'option' }, marked(path, at)))
    const count = total === 0 ? say('There is no such file.') : total === 1 ? say('1 file') : say('{count} files').replace('{count}', total)
    return {
      nodes,
      text: `${count}${total > shown.length ? say(', the best {count} are shown').replace('{count}', shown.length) : ''}${bound ? ` · ${bound}` : ''}`,
    }
  }
}

/** A text with marks at positions. */
function marked(text, at) {
  const line = make('span', { className: 'grow' })
  let done = 0
  for (let i = 0; i < at.length; ) {
    let end = i + 1
    while (at[end] === at[end - 1] + 1) end++
    line.append(text.slice(done, at[i]), make('mark', { textContent: text.slice(at[i], at[end - 1] + 1) }))
    done = at[end - 1] + 1
    i = end
  }
  line.append(text.slice(done))
  return line
}

const says = (element) =>
  element.dataset.says ?? element.ariaLabel ?? [...element.childNodes].map(({ textContent }) => textContent.trim()).find(Boolean) ?? ''
const exists = (selector) => document.querySelector(selector) !== null

/** Shows the keys of this page: those that its elements name, and what the script does everywhere. */
export function showKeys() {
  const keys = [
    ...[...document.querySelectorAll('[data-key]')].map((element) => [[element.dataset.key], says(element)]),
    ...[...document.querySelectorAll('[data-go]')].map((element) => [['g', element.dataset.go], says(element)]),
    ...(exists('.rows > li a, .box.diff[id], .thread')
      ? [
          [['j'], say('Next in the list or the changes')],
          [['k'], say('The one before')],
        ]
      : []),
    ...(exists('.editor textarea') ? [[['Ctrl', 'Enter'], say('Send what is typed')]] : []),
    [['?'], say('Keys of this page')],
    [['Esc'], say('Close')],
  ]
  const rows = keys.flatMap(([names, text]) => [
    make('dt', {}, {}, ...names.map((name) => make('kbd', { textContent: name }))),
    make('dd', { textContent: text }),
  ])
  const close = make('button', { textContent: say('Close') })
  const dialog = make(
    'dialog',
    { className: 'finder keys' },
    { 'aria-label': say('Keys of this page') },
    make('h2', { textContent: say('Keys of this page') }),
    make('dl', {}, {}, ...rows),
    make('form', { method: 'dialog' }, {}, close),
  )
  dialog.addEventListener('close', () => dialog.remove())
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
  document.body.append(dialog)
  dialog.showModal()
}
