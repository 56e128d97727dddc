// Runs in a sandboxed frame without an origin: draws the diagram whose text the page sends, and says how high it is.
import mermaid from 'mermaid'

const tell = (message) => parent.postMessage(message, '*')
const size = new ResizeObserver(([{ target }]) => tell({ height: Math.ceil(target.getBoundingClientRect().height) }))

addEventListener('message', async ({ source: sender, data }) => {
  if (sender !== parent || typeof data?.source !== 'string') return
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    maxTextSize: 20_000,
    maxEdges: 300,
    theme: data.isDark ? 'dark' : 'default',
    fontFamily: 'system-ui, sans-serif',
  })
  try {
    const { svg } = await mermaid.render('diagram', data.source)
    document.body.innerHTML = svg
    size.disconnect()
    size.observe(document.body.firstElementChild)
  } catch {
    tell({ failed: true })
  }
})
tell({ ready: true })
