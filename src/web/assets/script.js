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
