// The page script. Every page works without it: it only saves steps.

// Dates become "3 hours ago"; the exact time stays in the title.
const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

function ago(moment) {
  const seconds = (moment - Date.now()) / 1000
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1]
  return unit === 'second' ? 'just now' : relative.format(Math.round(seconds / length), unit)
}

for (const time of document.querySelectorAll('time[datetime]')) time.textContent = ago(Date.parse(time.dateTime))

// Copy buttons are shown only where they work.
for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) continue
  button.hidden = false
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy)
    await navigator.clipboard.writeText(source.value ?? source.textContent)
    const label = button.textContent
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = label
    }, 2_000)
  })
}

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
  for (const menu of document.querySelectorAll('details.menu[open]')) if (!menu.contains(event.target)) menu.open = false
})

// `#L10-20` marks lines of a file; with Shift a number ends the range.
const LINES = /^#L(\d+)(?:-L?(\d+))?$/
function markLines() {
  for (const line of document.querySelectorAll('tr.chosen')) line.classList.remove('chosen')
  const [, from, to = from] = LINES.exec(location.hash) ?? []
  if (!from) return
  const [first, last] = [Number(from), Number(to)].sort((a, b) => a - b)
  for (let at = first; at <= last && at < first + 50_000; at++) document.getElementById(`L${at}`)?.classList.add('chosen')
  if (from !== to) document.getElementById(`L${first}`)?.scrollIntoView({ block: 'center' })
}
addEventListener('hashchange', markLines)
markLines()
addEventListener('click', (event) => {
  const link = event.shiftKey && event.target.closest?.('.lines .number a[href^="#L"]')
  const [, from] = LINES.exec(location.hash) ?? []
  if (!link || !from) return
  event.preventDefault()
  const [first, last] = [Number(from), Number(link.hash.slice(2))].sort((a, b) => a - b)
  location.hash = `L${first}-${last}`
})

// Keys that elements name: `/` for the search, `t` for files, `y` for the address that stays.
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select, [contenteditable]')) return
  const named = [...document.querySelectorAll('[data-key]')].find((each) => each.dataset.key === event.key)
  if (!named) return
  event.preventDefault()
  if (named.matches('input')) named.focus()
  else named.click()
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
  for (const time of part.querySelectorAll('time[datetime]')) time.textContent = ago(Date.parse(time.dateTime))
  part.querySelector('[autofocus]')?.focus()
}

const partIn = (html, id) => new DOMParser().parseFromString(html, 'text/html').getElementById(id)

async function replace(id, url, options) {
  const old = document.getElementById(id)
  const answer = await fetch(url, { headers: { accept: 'text/html' }, ...options })
  const fresh = answer.ok ? partIn(await answer.text(), id) : null
  if (!old) return false
  // what was deleted is no longer there
  if (fresh) old.replaceWith(fresh)
  else if (answer.ok) old.remove()
  else return false
  changed = false
  if (fresh) enhance(fresh)
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
    if (!(await replace(link.dataset.into, url).catch(() => false))) location = link.href
  }
})

addEventListener('submit', async (event) => {
  const form = event.target
  const { submitter } = event
  if (form.dataset.comment !== undefined) return beginComment(event)
  const { into } = form.dataset
  if (!into || event.defaultPrevented) return
  event.preventDefault()
  const body = new URLSearchParams(new FormData(form, submitter))
  if (submitter) submitter.disabled = true
  if (await replace(into, form.action, { method: 'POST', body }).catch(() => false)) return
  if (submitter) {
    submitter.disabled = false
    if (submitter.name) form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: submitter.name, value: submitter.value }))
  }
  form.submit()
})

// The form of a new comment is put under its line.
async function beginComment(event) {
  const { target: form, submitter } = event
  if (!submitter) return
  event.preventDefault()
  const url = new URL(form.action)
  url.search = new URLSearchParams(new FormData(form, submitter))
  url.searchParams.set('only', '1')
  const answer = await fetch(url, { headers: { accept: 'text/html' } })
  const fresh = partIn(await answer.text(), 'comment')
  if (!answer.ok || !fresh) {
    location = url
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
  } else form.after(fresh)
  enhance(fresh)
}

// The merge box is kept up to date for a while, unless somebody is working in it.
const REFRESHED_FOR = 30 * 60_000
const opened = Date.now()
async function refresh() {
  const box = document.querySelector('[data-refresh]')
  if (!box || Date.now() - opened > REFRESHED_FOR) return
  const isBusy = document.hidden || box.contains(document.activeElement) || box.querySelector('details[open]')
  if (!isBusy) {
    const before = box.textContent
    const answer = await fetch(box.dataset.refresh, { headers: { accept: 'text/html' } }).catch(() => null)
    const fresh = answer?.ok ? partIn(await answer.text(), box.id) : null
    if (fresh) enhance(fresh)
    if (fresh && fresh.textContent !== before) box.replaceWith(fresh)
  }
  setTimeout(refresh, 1_000 * (document.querySelector('[data-refresh]')?.dataset.every ?? 10))
}
if (document.querySelector('[data-refresh]')) setTimeout(refresh, 2_000)

// In diffs and discussions, j and k go to the next and the previous thread that is not resolved.
addEventListener('keydown', (event) => {
  if ((event.key !== 'j' && event.key !== 'k') || event.target.closest('input, textarea, select') || event.ctrlKey || event.metaKey || event.altKey)
    return
  const threads = [...document.querySelectorAll('.thread:has(> .head .badge.waiting)')]
  if (threads.length === 0) return
  const at = threads.indexOf(document.querySelector('.thread.current'))
  const next = threads[(at + (event.key === 'j' ? 1 : threads.length - 1) + threads.length) % threads.length]
  document.querySelector('.thread.current')?.classList.remove('current')
  next.classList.add('current')
  next.tabIndex = -1
  next.focus()
  next.scrollIntoView({ block: 'center' })
})
