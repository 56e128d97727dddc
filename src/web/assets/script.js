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
