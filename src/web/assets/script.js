// The page script. Every page works without it: it only saves steps.

// Errors are reported where the page says so, five of a page at most.
const { errors: errorsAt, diagrams: diagramsAt, finders: findersAt, texts = '{}' } = document.currentScript?.dataset ?? {}
// Texts in the language of the page, where it is not English.
const translated = JSON.parse(texts)
const say = (text) => translated[text] ?? text
if (errorsAt) {
  let left = 5
  const report = (message, { source = '', line = 0, column = 0, stack = '' }) => {
    if (left-- <= 0) return
    const body = new URLSearchParams({ message, source, line, column, stack: String(stack).slice(0, 4_000), page: location.pathname })
    fetch(errorsAt, { method: 'POST', body, keepalive: true }).catch(() => {})
  }
  addEventListener('error', ({ message, filename, lineno, colno, error }) =>
    report(message, { source: filename, line: lineno, column: colno, stack: error?.stack }),
  )
  addEventListener('unhandledrejection', ({ reason }) => report(String(reason), { stack: reason?.stack }))
}

// Dates become "3 hours ago"; the exact time stays in the title.
const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang || 'en', { numeric: 'auto' })

function ago(moment) {
  const seconds = (moment - Date.now()) / 1000
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1]
  return unit === 'second' ? say('just now') : relative.format(Math.round(seconds / length), unit)
}

// What is wider than its box can be scrolled by keyboard; not every browser lets it be reached by itself.
function prepare(part) {
  for (const time of part.querySelectorAll('time[datetime]')) time.textContent = ago(Date.parse(time.dateTime))
  for (const box of part.querySelectorAll('.prose pre, .prose table')) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0
  // shown only where they work
  if (navigator.clipboard) for (const button of part.querySelectorAll('[data-copy], [data-copy-from]')) button.hidden = false
  for (const field of part.querySelectorAll('[data-filter]')) field.hidden = false
  const diagrams = part.querySelectorAll('code.language-mermaid')
  if (diagramsAt && diagrams.length > 0) void import(diagramsAt).then(({ watch }) => watch(diagrams))
}
prepare(document)

// Where not all tabs fit, the current one is in sight.
for (const tab of document.querySelectorAll('.tabs [aria-current], .side [aria-current]')) {
  const tabs = tab.closest('.tabs, ul')
  tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2
}

// Copies the text of an element, what is at an address, or the lines that are chosen.
const labels = new WeakMap()
addEventListener('click', async ({ target }) => {
  const button = target.closest?.('[data-copy], [data-copy-from], [data-copy-lines]')
  if (!button) return
  const { copy, copyFrom } = button.dataset
  const source = copy && document.getElementById(copy)
  const lines = () => [...document.querySelectorAll('tr.chosen .code')].map(({ textContent }) => textContent.replace(/\n$/, '')).join('\n')
  const fetched = async () => {
    const answer = await fetch(copyFrom)
    if (!answer.ok) throw new Error(String(answer.status))
    return answer.text()
  }
  if (!labels.has(button)) labels.set(button, { ariaLabel: button.ariaLabel, nodes: [...button.childNodes] })
  const { ariaLabel, nodes } = labels.get(button)
  const said = await (async () => {
    await navigator.clipboard.writeText(source ? (source.value ?? source.textContent.trim()) : copyFrom ? await fetched() : lines())
    return say('Copied')
  })().catch(() => say('Not copied'))
  button.replaceChildren(said)
  button.ariaLabel = null
  setTimeout(() => {
    button.replaceChildren(...nodes)
    button.ariaLabel = ariaLabel
  }, 2_000)
})

// Security keys and passkeys: their forms are shown only where the browser has what they need.
for (const form of document.querySelectorAll('form[data-key]')) {
  const { PublicKeyCredential: keys } = window
  if (!keys?.parseRequestOptionsFromJSON) continue
  form.hidden = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const options = JSON.parse(form.dataset.options)
    const fault = form.querySelector('[role=alert]')
    fault.hidden = true
    try {
      const key =
        form.dataset.key === 'create'
          ? await navigator.credentials.create({ publicKey: keys.parseCreationOptionsFromJSON(options) })
          : await navigator.credentials.get({ publicKey: keys.parseRequestOptionsFromJSON(options) })
      form.elements.device_response.value = JSON.stringify(key.toJSON())
      form.submit()
    } catch {
      fault.hidden = false
    }
  })
}

// An open menu closes by Escape, and by a click beside it.
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    menu.open = false
    menu.querySelector('summary').focus()
  }
})
addEventListener('click', (event) => {
  for (const menu of document.querySelectorAll('details.menu[open]'))
    if (!menu.contains(event.target) || event.target.closest('a[href^="#"]')) menu.open = false
})

// A filter leaves the choices that have what is typed. It has the focus when its menu opens.
addEventListener('input', ({ target }) => {
  if (!target.matches('[data-filter]')) return
  const term = target.value.trim().toLowerCase()
  for (const choice of target.parentElement.querySelectorAll('.check')) choice.hidden = !choice.textContent.toLowerCase().includes(term)
})
addEventListener('toggle', ({ target }) => target.open && target.querySelector('.items [data-filter]')?.focus(), true)
addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !event.target.matches('[data-filter]')) return
  // the first of them is taken
  event.preventDefault()
  event.target.parentElement.querySelector('.check:not([hidden]) input')?.click()
})

// `#L10-20` marks lines of a file; with Shift a number ends the range.
const LINES = /^#L(\d+)(?:-L?(\d+))?$/
function markLines() {
  for (const line of document.querySelectorAll('tr.chosen')) line.classList.remove('chosen')
  const [, from, to = from] = LINES.exec(location.hash) ?? []
  const copy = document.querySelector('[data-copy-lines]')
  if (copy) copy.hidden = !from || !navigator.clipboard
  if (!from) return
  const [first, last] = [Number(from), Number(to)].sort((a, b) => a - b)
  for (let at = first; at <= last && at < first + 50_000; at++) document.getElementById(`L${at}`)?.classList.add('chosen')
  if (from !== to) document.getElementById(`L${first}`)?.scrollIntoView({ block: 'center' })
}
addEventListener('hashchange', markLines)
markLines()

// Links from elsewhere name the sections of a text without the prefix of their ids.
function showSection() {
  const id = decodeURIComponent(location.hash.slice(1))
  if (id && !document.getElementById(id)) document.getElementById(`user-content-${id}`)?.scrollIntoView()
}
addEventListener('hashchange', showSection)
showSection()
addEventListener('click', (event) => {
  const link = event.shiftKey && event.target.closest?.('.lines .number a[href^="#L"]')
  const [, from] = LINES.exec(location.hash) ?? []
  if (!link || !from) return
  event.preventDefault()
  const [first, last] = [Number(from), Number(link.hash.slice(2))].sort((a, b) => a - b)
  location.hash = `L${first}-${last}`
})

// Keys that elements name: `/` for the search, `t` for files, `w` for branches, `y` for the address that stays, `?` for all
// of them; after `g`, what waits.
let isGoing = false
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select, [contenteditable]')) return
  if (document.querySelector('dialog[open]')) return
  const named = document.querySelector(`[data-${isGoing ? 'go' : 'key'}="${CSS.escape(event.key)}"]`)
  isGoing = event.key === 'g'
  if (event.key === '?' && findersAt) void import(findersAt).then(({ showKeys }) => showKeys())
  if (!named) return
  event.preventDefault()
  if (named.matches('input')) named.select()
  else named.click()
  // not only once the menu says that it is open, so that no letter is lost
  if (named.matches('summary')) named.parentElement.querySelector('input[data-finder]')?.focus()
})

// What is looked for is offered while it is typed: files, branches and tags, and what the search finds.
addEventListener('focusin', ({ target }) => {
  if (findersAt && target.matches?.('input[data-finder]')) void import(findersAt).then(({ attach }) => attach(target))
})
// Enter opens the best match, also when it comes before the finder is loaded
addEventListener('submit', (event) => {
  const field = event.target.querySelector('input[data-finder]')
  if (!findersAt || !field || field !== document.activeElement || field.closest('.top')) return
  event.preventDefault()
  void import(findersAt).then(({ attach }) => attach(field)())
})
document.querySelector('[autofocus][data-finder]')?.dispatchEvent(new Event('focusin', { bubbles: true }))
addEventListener('toggle', ({ target }) => target.open && target.querySelector('input[data-finder]')?.focus(), true)
addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-files]')
  if (!link || !findersAt || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  // the field is there at once, so that no letter is lost
  const dialog = Object.assign(document.createElement('dialog'), { className: 'finder' })
  const form = Object.assign(document.createElement('form'), { action: link.href })
  const field = Object.assign(document.createElement('input'), { name: 'search', placeholder: say('Find a file'), ariaLabel: say('Find a file') })
  field.dataset.finder = 'files'
  dialog.ariaLabel = say('Find a file')
  form.append(field)
  dialog.append(form)
  document.body.append(dialog)
  dialog.addEventListener('close', () => dialog.remove())
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
  dialog.showModal()
})

// A typed text is not lost by a wrong click.
let changed = false
addEventListener('input', (event) => {
  if (event.target.matches('textarea')) changed = true
})
addEventListener('submit', () => {
  changed = false
})
addEventListener('beforeunload', (event) => {
  if (changed) event.preventDefault()
})

// Reviews: links and forms with `data-into` replace a part of the page by what it is on the next page, in place.
function enhance(part) {
  prepare(part)
  for (const editor of part.querySelectorAll('.editor')) edit(editor)
  for (const text of part.querySelectorAll('textarea[data-draft]')) keep(text)
  part.querySelector('[autofocus]')?.focus()
}

function partIn(html, id) {
  const page = new DOMParser().parseFromString(html, 'text/html')
  // icons that this page does not have yet
  for (const icon of page.querySelectorAll('symbol')) if (!document.getElementById(icon.id)) document.body.firstChild.append(icon)
  return page.getElementById(id)
}

async function replace(id, url, options) {
  const old = document.getElementById(id)
  const answer = await fetch(url, { headers: { accept: 'text/html' }, ...options })
  const fresh = answer.ok ? partIn(await answer.text(), id) : null
  if (!old) return false
  const hadFocus = old.contains(document.activeElement)
  // what was deleted is no longer there
  if (fresh) old.replaceWith(fresh)
  else if (answer.ok) old.remove()
  else return false
  changed = [...document.querySelectorAll('textarea')].some(({ value, defaultValue }) => value !== defaultValue)
  if (!fresh) return true
  enhance(fresh)
  if (hadFocus && !fresh.contains(document.activeElement)) fresh.querySelector('.menu > summary, a, button')?.focus({ preventScroll: true })
  return true
}

addEventListener('click', async (event) => {
  const link = event.target.closest('a[data-into], a[data-remove]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  if (link.dataset.remove) document.getElementById(link.dataset.remove)?.remove()
  else {
    const url = new URL(link.href)
    if (link.dataset.query) for (const [name, value] of new URLSearchParams(link.dataset.query)) url.searchParams.set(name, value)
    if (!(await replace(link.dataset.into, url).catch(() => false))) location.assign(link.href)
  }
})

addEventListener('submit', async (event) => {
  const form = event.target
  const { submitter } = event
  if (form.dataset.comment !== undefined) return beginComment(event)
  const { into } = form.dataset
  if (!into || event.defaultPrevented) return
  event.preventDefault()
  const data = new FormData(form, submitter)
  data.delete('upload')
  const body = new URLSearchParams(data)
  if (submitter) submitter.disabled = true
  const drafts = [...form.querySelectorAll('textarea[data-draft]')].map(draftOf)
  if (await replace(into, form.action, { method: 'POST', body }).catch(() => false)) {
    for (const name of drafts) for (const storage of [localStorage, sessionStorage]) storage.removeItem(name)
    return
  }
  if (submitter) {
    submitter.disabled = false
    if (submitter.name) form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: submitter.name, value: submitter.value }))
  }
  form.submit()
})

// With shift, a click on a second line takes the lines from the first to the second.
let first = null
let rangeFrom = ''
addEventListener('click', (event) => {
  const button = event.target.closest('button.remark')
  if (!button) return
  rangeFrom = ''
  if (!event.shiftKey || first?.form !== button.form || first === button) {
    first = button
    return
  }
  event.preventDefault()
  const isLater = first.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING
  const [earlier, later] = isLater ? [first, button] : [button, first]
  rangeFrom = earlier.value.split('_')[later.value.endsWith('_') ? 0 : 1]
  later.form.requestSubmit(later)
})

// The lines from the first of a range to the one that is commented on are marked.
function markRange(under, from) {
  for (const row of document.querySelectorAll('.diff tr.chosen')) row.classList.remove('chosen')
  let row = from ? under?.previousElementSibling : null
  const side = row?.id.endsWith('_') ? 1 : 2
  for (; row; row = row.previousElementSibling) {
    const number = Number(row.id.split('_')[side])
    if (number && number < from) break
    if (row.id) row.classList.add('chosen')
  }
}
addEventListener('input', ({ target }) => target.name === 'from' && markRange(target.closest('.under'), target.value))

// The form of a new comment is put under its line.
async function beginComment(event) {
  const { target: form, submitter } = event
  if (!submitter) return
  event.preventDefault()
  const url = new URL(form.action)
  url.search = new URLSearchParams(new FormData(form, submitter))
  url.searchParams.set('only', '1')
  if (rangeFrom) url.searchParams.set('from', rangeFrom)
  const answer = await fetch(url, { headers: { accept: 'text/html' } })
  const fresh = partIn(await answer.text(), 'comment')
  if (!answer.ok || !fresh) {
    location.assign(url)
    return
  }
  document.getElementById('comment')?.closest('tr.under:not(:has(.thread:not(#comment)))')?.remove()
  document.getElementById('comment')?.remove()
  const row = submitter.closest('tr')
  if (row) {
    const under = document.createElement('tr')
    under.className = 'under'
    under.append(Object.assign(document.createElement('td'), { colSpan: row.cells.length }))
    under.firstChild.append(fresh)
    row.after(under)
    markRange(under, rangeFrom)
  } else form.after(fresh)
  enhance(fresh)
}

// The merge box, and what is still being found, is kept up to date for a while, unless somebody is working in it.
const REFRESHED_FOR = 30 * 60_000
const opened = Date.now()
async function refresh() {
  const box = document.querySelector('[data-refresh]')
  if (!box || Date.now() - opened > REFRESHED_FOR) return
  const isBusy = document.hidden || box.contains(document.activeElement) || box.querySelector('details[open]:not(.section)')
  if (!isBusy) {
    const before = box.textContent
    const answer = await fetch(box.dataset.refresh, { headers: { accept: 'text/html' } }).catch(() => null)
    const fresh = answer?.ok ? partIn(await answer.text(), box.id) : null
    if (fresh) enhance(fresh)
    // what the reader has closed stays so
    for (const section of fresh ? box.querySelectorAll('details.section[id]') : []) {
      const same = fresh.querySelector(`#${CSS.escape(section.id)}`)
      if (same) same.open = section.open
    }
    if (fresh && fresh.textContent !== before) box.replaceWith(fresh)
  }
  setTimeout(refresh, 1_000 * (document.querySelector('[data-refresh]')?.dataset.every ?? 10))
}
if (document.querySelector('[data-refresh]')) setTimeout(refresh, 2_000)

// j and k go to the next and the previous thread that is not resolved; without any, to files of a diff and rows of a list.
addEventListener('keydown', (event) => {
  if ((event.key !== 'j' && event.key !== 'k') || event.target.closest('input, textarea, select') || event.ctrlKey || event.metaKey || event.altKey)
    return
  const threads = [...document.querySelectorAll('.thread:has(> .head .badge.waiting)')]
  const files = threads.length > 0 ? threads : [...document.querySelectorAll('.box.diff[id] > details > summary')]
  const stops =
    files.length > 0
      ? files
      : [...document.querySelectorAll('.rows > li a:first-of-type')].filter((link) => link.closest('li').querySelector('a') === link)
  if (stops.length === 0) return
  const at = stops.indexOf(document.querySelector('.current'))
  const next = stops[at < 0 && event.key === 'k' ? stops.length - 1 : (at + (event.key === 'j' ? 1 : stops.length - 1) + stops.length) % stops.length]
  document.querySelector('.current')?.classList.remove('current')
  next.classList.add('current')
  if (!next.matches('a, summary')) next.tabIndex = -1
  next.focus()
  next.scrollIntoView({ block: threads.length > 0 ? 'center' : 'nearest' })
})

// The editor: buttons for marks, a preview and files without a reload, completion, and drafts.
function edit(editor) {
  const text = editor.querySelector('textarea')
  const form = text.form
  const insert = (value, from = text.selectionStart, to = text.selectionEnd) => {
    text.setRangeText(value, from, to, 'end')
    text.dispatchEvent(new Event('input', { bubbles: true }))
    text.focus()
  }

  // it grows with what is typed, where the browser can
  const grow = () => Object.assign(text.style, { minHeight: `${text.offsetHeight}px`, fieldSizing: 'content', maxHeight: '70vh' })
  if (document.activeElement === text) grow()
  else text.addEventListener('focus', grow, { once: true })

  const tools = editor.querySelector('.tools')
  if (tools) tools.hidden = false
  tools?.addEventListener('click', ({ target }) => {
    const { mark } = target.dataset
    if (!mark) return
    const { selectionStart: from, selectionEnd: to, value } = text
    const chosen = value.slice(from, to)
    if (mark === '[](url)') insert(`[${chosen}](url)`)
    else if (mark.endsWith(' ')) {
      const start = value.lastIndexOf('\n', from - 1) + 1
      insert(value.slice(start, to).replace(/^/gm, mark), start, to)
    } else insert(`${mark}${chosen}${mark}`)
  })
  text.addEventListener('keydown', (event) => {
    const key = (event.ctrlKey || event.metaKey) && event.key.toLowerCase()
    if (tools && (key === 'b' || key === 'i')) {
      event.preventDefault()
      tools.querySelector(`[data-mark="${key === 'b' ? '**' : '_'}"]`).click()
    } else if (key === 'enter') form.requestSubmit()
  })

  // the page of the form is asked for, and the part that is wanted is taken from it
  const ask = async (data) => {
    const answer = await fetch(form.action, { method: 'POST', body: data, headers: { accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const editors = [...page.querySelectorAll('.editor')]
    return editors.find((each) => each.querySelector('textarea')?.id === text.id) ?? editors.at(-1)
  }
  const preview = editor.querySelector('[name=preview]')
  preview.addEventListener('click', async (event) => {
    event.preventDefault()
    const data = new FormData(form)
    data.delete('upload')
    data.set('preview', text.name)
    const shown = (await ask(data))?.querySelector('.preview')
    if (!shown) return alert(say('The preview could not be made. Are you still signed in?'))
    editor.querySelector('.preview')?.remove()
    editor.append(shown)
    prepare(shown)
  })
  const attach = async (file) => {
    const data = new FormData(form)
    data.set('attach', text.name)
    data.set('upload', file, file.name || 'image.png')
    data.set(text.name, '')
    const added = (await ask(data))?.querySelector('textarea').value
    if (added) insert(added)
    else alert(say('The file could not be attached.'))
  }
  const chooser = editor.querySelector('[name=upload]')
  if (chooser) {
    editor.querySelector('[name=attach]').hidden = true
    chooser.addEventListener('change', async () => {
      for (const file of chooser.files) await attach(file)
      chooser.value = ''
    })
    const takes = (event, { files }) => {
      if (files.length === 0) return
      event.preventDefault()
      for (const file of files) void attach(file)
    }
    text.addEventListener('paste', (event) => takes(event, event.clipboardData))
    text.addEventListener('drop', (event) => takes(event, event.dataTransfer))
  }

  // the suggestion follows what was typed; the caret stands in its last line
  const suggest = form.querySelector('[name=show][value=suggestion]')
  suggest?.addEventListener('click', async (event) => {
    event.preventDefault()
    const data = new FormData(form)
    data.delete('upload')
    data.set('show', suggest.value)
    const suggested = (await ask(data))?.querySelector('textarea').value
    if (!suggested) return
    insert(suggested, 0, text.value.length)
    const end = suggested.trimEnd().lastIndexOf('\n')
    text.setSelectionRange(end, end)
  })

  if (editor.dataset.complete) complete(editor, text, insert)
}
for (const editor of document.querySelectorAll('.editor')) edit(editor)

// Completion of @ # ! ~ % and : while a text is typed.
function complete(editor, text, insert) {
  const list = Object.assign(document.createElement('ul'), { className: 'suggestions', hidden: true, id: `${text.id}_list` })
  list.setAttribute('role', 'listbox')
  list.setAttribute('aria-label', say('Suggestions'))
  text.after(list)
  let asked = 0
  let chosen = 0
  const close = () => {
    list.hidden = true
    text.removeAttribute('aria-activedescendant')
  }
  const found = () => /(?:^|[\s(])([@#!~%:])([^\s@#!~%:()]{0,50})$/.exec(text.value.slice(0, text.selectionStart))
  const mark = (at) => {
    chosen = (at + list.children.length) % list.children.length
    for (const [i, item] of [...list.children].entries()) item.setAttribute('aria-selected', String(i === chosen))
    text.setAttribute('aria-activedescendant', list.children[chosen].id)
  }
  const take = (value) => {
    const match = found()
    close()
    if (match) insert(`${value} `, text.selectionStart - match[2].length - 1, text.selectionStart)
  }
  text.addEventListener('input', async () => {
    const match = found()
    const turn = ++asked
    if (!match || (match[1] === ':' && match[2].length < 2)) return close()
    await new Promise((done) => setTimeout(done, 150))
    if (turn !== asked) return
    const query = new URLSearchParams({ type: match[1], term: match[2] })
    const answer = await fetch(`${editor.dataset.complete}?${query}`, { headers: { accept: 'application/json, text/html' } })
    if (turn !== asked || !answer.ok || !/json/.test(answer.headers.get('content-type'))) return close()
    const items = await answer.json()
    if (turn !== asked || items.length === 0) return close()
    list.replaceChildren(
      ...items.map(({ value, label }, i) => {
        const item = Object.assign(document.createElement('li'), { id: `${list.id}_${i}`, textContent: label ? `${value}  ${label}` : value })
        item.setAttribute('role', 'option')
        item.dataset.value = value
        item.addEventListener('mousedown', (event) => {
          event.preventDefault()
          take(value)
        })
        return item
      }),
    )
    list.hidden = false
    mark(0)
  })
  text.addEventListener('blur', close)
  text.addEventListener('keydown', (event) => {
    if (list.hidden) return
    const { key } = event
    if (key === 'ArrowDown') mark(chosen + 1)
    else if (key === 'ArrowUp') mark(chosen - 1)
    else if (key === 'Enter' || key === 'Tab') take(list.children[chosen].dataset.value)
    else if (key === 'Escape') close()
    else return
    event.preventDefault()
    event.stopPropagation()
  })
}

// What is typed survives a reload and an ended session; it is forgotten once the page after the form is there.
const DRAFT = 'draft '
const draftOf = (text) => `${DRAFT}${text.form.getAttribute('action')} ${text.name}`
const isRefused = document.querySelector('.error, form[action$="/users/sign_in"], [role=alert]') !== null
for (const name of Object.keys(sessionStorage)) {
  if (!name.startsWith(DRAFT)) continue
  sessionStorage.removeItem(name)
  if (!isRefused) localStorage.removeItem(name)
}
function keep(text) {
  const name = draftOf(text)
  const kept = localStorage.getItem(name)
  if (kept && text.value === text.defaultValue && kept !== text.value && !isRefused) {
    const restore = Object.assign(document.createElement('button'), { type: 'button', textContent: say('Restore what you typed before') })
    if (text.value === '') text.value = kept
    else text.after(restore)
    restore.addEventListener('click', () => {
      text.value = kept
      restore.remove()
    })
  }
  text.addEventListener('input', () => (text.value === text.defaultValue ? localStorage.removeItem(name) : localStorage.setItem(name, text.value)))
  text.form.addEventListener('submit', () => localStorage.getItem(name) && sessionStorage.setItem(name, 'sent'))
}
for (const text of document.querySelectorAll('textarea[data-draft]')) keep(text)
