// Draws the diagrams of a page, each in a sandboxed frame of its own, which has no access to the page. Their text stays
// below them; where something is wrong, it is all there is.
const texts = JSON.parse(document.querySelector('script[data-texts]')?.dataset.texts ?? '{}')
/** A text in the language of the page. */
const say = (text) => texts[text] ?? text
const MAX_DIAGRAMS = 20
const MAX_SOURCE = 20_000
const MAX_HEIGHT = 4_000
const PATIENCE_MS = 20_000

const frameAt = new URL('../../-/diagram', import.meta.url)
const dark = matchMedia('(prefers-color-scheme: dark)')
const { theme } = document.documentElement.dataset
/** As the page: the chosen theme, or that of the system. */
const isDark = () => (theme ? theme === 'dark' : dark.matches)
/** What takes the messages of each frame. */
const takers = new Map()
const senders = new Set()
let seen = 0

addEventListener('message', ({ source, data }) => takers.get(source)?.(data))
dark.addEventListener('change', () => {
  for (const send of senders) send()
})

const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue
      near.unobserve(target)
      draw(target)
    }
  },
  { rootMargin: '400px' },
)

/** Draws these blocks of code once they are about to be seen. */
export function watch(codes) {
  for (const code of codes) {
    if (code.textContent.length > MAX_SOURCE || code.closest('.drawn') || seen >= MAX_DIAGRAMS) continue
    seen++
    near.observe(code.parentElement)
  }
}

function draw(block) {
  const source = block.textContent
  const frame = document.createElement('iframe')
  frame.className = 'diagram'
  frame.title = say('Diagram')
  frame.setAttribute('sandbox', 'allow-scripts')
  frame.src = frameAt
  block.before(frame)
  const { contentWindow } = frame
  // a sandboxed frame has no origin that could be named
  const send = () => contentWindow.postMessage({ source, isDark: isDark() }, '*')
  const giveUp = () => {
    takers.delete(contentWindow)
    senders.delete(send)
    frame.remove()
  }
  const timer = setTimeout(giveUp, PATIENCE_MS)
  takers.set(contentWindow, ({ ready, failed, height } = {}) => {
    if (ready) send()
    if (failed) giveUp()
    if (!Number.isFinite(height) || !frame.isConnected) return
    clearTimeout(timer)
    senders.add(send)
    frame.style.height = `${Math.min(Math.max(height, 16), MAX_HEIGHT)}px`
    if (block.closest('.drawn')) return
    const details = document.createElement('details')
    details.className = 'drawn'
    details.append(Object.assign(document.createElement('summary'), { textContent: say('Source of the diagram') }))
    block.replaceWith(details)
    details.append(block)
  })
}
