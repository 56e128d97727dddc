import { renderToString } from 'preact-render-to-string'
import type { Waiting } from '../../services/issuables/waiting.js'
import type { AssetLinks } from '../assets.js'
import { Broadcasts } from '../components/broadcasts.js'
import { symbolsIn } from '../components/icon.js'
import type { Html, PageView } from '../page.js'
import { Header } from './header.js'
import { ImpersonationBar } from './impersonation-bar.js'
import { type CallCosts, PerformanceBar } from './performance-bar.js'

/** The whole text of a page. */
export function documentOf(
  { title, body, narrow = false, scripted = !narrow }: Html,
  view: PageView,
  assets: AssetLinks,
  { waiting, costs }: { waiting: Waiting | null; costs: CallCosts | null },
): string {
  const content = renderToString(
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <ImpersonationBar view={view} />
      {!narrow && <Header view={view} waiting={waiting} />}
      <main id="main" class={narrow ? 'narrow' : 'wide'}>
        <Broadcasts view={view} />
        <FlashMessage view={view} />
        {body}
      </main>
      {!narrow && <Footer view={view} />}
      {costs && <PerformanceBar costs={costs} />}
    </>,
  )
  const head = renderToString(<Head title={title} assets={assets} scripted={scripted} errors={errorsAt(view)} />)
  return `<!DOCTYPE html>\n<html lang="en">${head}<body>${symbolsIn(content)}${content}</body></html>\n`
}

/** Where the script reports its errors; undefined if nowhere (WB-201). */
const errorsAt = ({ settings, links }: PageView) => (settings.clientside_errtracker_enabled ? `${links.prefix}/-/page_errors` : undefined)

interface HeadProps {
  title: string
  assets: AssetLinks
  scripted: boolean
  errors: string | undefined
}

const Head = ({ title, assets, scripted, errors }: HeadProps) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <meta name="color-scheme" content="light dark" />
    <title>{`${title} · Roost`}</title>
    <link rel="stylesheet" href={assets.style} />
    <link rel="icon" href={assets.icon} type="image/svg+xml" />
    {scripted && <script src={assets.script} defer data-errors={errors} />}
  </head>
)

const FlashMessage = ({ view: { flash } }: { view: PageView }) =>
  flash && (
    <p class={`flash ${flash.kind}`} role={flash.kind === 'alert' ? 'alert' : 'status'}>
      {flash.text}
    </p>
  )

const Footer = ({ view: { links } }: { view: PageView }) => (
  <footer class="footer">
    <a href={`${links.prefix}/help`}>Help</a>
    <a href={`${links.prefix}/api/docs`}>API</a>
  </footer>
)
