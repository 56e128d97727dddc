import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Slices } from '../../lib/async/slices.js'
import type { Waiting } from '../../services/issuables/waiting.js'
import type { AssetLinks } from '../assets.js'
import { Broadcasts } from '../components/broadcasts.js'
import { Icon, symbolsOf } from '../components/icon.js'
import { t } from '../language/language.js'
import type { Html, PageView } from '../page.js'
import { LastPart, renderInParts } from '../page-part.js'
import type { Theme } from '../themes.js'
import { scriptTexts } from './for-scripts.js'
import { Header } from './header.js'
import { ImpersonationBar } from './impersonation-bar.js'
import { type CallCosts, PerformanceBar } from './performance-bar.js'

/** The whole text of a page. */
export async function documentOf(
  slices: Slices,
  { title, body, card, feed, narrow = false, scripted = !narrow, module }: Html,
  view: PageView,
  assets: AssetLinks,
  { waiting, costs }: { waiting: Waiting | null; costs: CallCosts | null },
): Promise<Buffer> {
  const { bytes, icons } = await renderInParts(
    slices,
    <>
      <a class="skip" href="#main">
        {t('Skip to content')}
      </a>
      <ImpersonationBar view={view} />
      {!narrow && (
        <LastPart>
          <Header view={view} waiting={waiting} />
        </LastPart>
      )}
      <main id="main" class={narrow ? 'narrow' : 'wide'}>
        {narrow && <Logo />}
        <Broadcasts view={view} />
        <FlashMessage view={view} />
        {body}
      </main>
      {!narrow && <Footer view={view} />}
      {costs && <PerformanceBar costs={costs} />}
    </>,
  )
  const head = renderToString(
    <Head title={title} theme={view.theme} assets={assets} scripted={scripted} module={module && assets[module]} errors={errorsAt(view)}>
      {card && view.viewer === null && <Card view={view} title={title} {...card} />}
      {feed && <link rel="alternate" type="application/atom+xml" title={feed.title} href={view.links.prefix + feed.at} />}
    </Head>,
  )
  const start = `<!DOCTYPE html>\n<html lang="${view.language}"${view.theme ? ` data-theme="${view.theme}"` : ''}>${head}<body>${symbolsOf(icons)}`
  return Buffer.concat([Buffer.from(start), bytes, Buffer.from('</body></html>\n')])
}

/** Where the script reports its errors; undefined if nowhere (WB-201). */
const errorsAt = ({ settings, links }: PageView) => (settings.clientside_errtracker_enabled ? `${links.prefix}/-/page_errors` : undefined)

interface HeadProps {
  title: string
  theme: Theme | null
  assets: AssetLinks
  scripted: boolean
  module: string | undefined
  errors: string | undefined
  children: ComponentChildren
}

const Head = ({ title, theme, assets, scripted, module, errors, children }: HeadProps) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <meta name="color-scheme" content={theme ?? 'light dark'} />
    <title>{`${title} · ${t('Roost')}`}</title>
    <link rel="stylesheet" href={assets.style} />
    <link rel="icon" href={assets.icon} type="image/svg+xml" />
    {children}
    {scripted && (
      <script
        src={assets.script}
        defer
        data-errors={errors}
        data-finders={assets.finders}
        data-diagrams={assets.diagrams}
        data-texts={scriptTexts()}
      />
    )}
    {module && <script type="module" src={module} />}
  </head>
)

/** Characters of a description that are shown with a link. */
const MAX_CARD = 200

const cardText = (text: string) => {
  const line = text
    .slice(0, 10 * MAX_CARD)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > MAX_CARD ? `${line.slice(0, MAX_CARD)}…` : line
}

/** What everybody may see, for services that show a link of the page. */
const Card = ({ view: { links, address }, title, text, image }: { view: PageView; title: string } & NonNullable<Html['card']>) => {
  const description = cardText(text ?? '')
  const [path = ''] = address.split('?', 1)
  return (
    <>
      <meta property="og:site_name" content="Roost" />
      <meta property="og:type" content="website" />
      <meta property="og:title" content={title} />
      <meta property="og:url" content={links.base + path} />
      {description && <meta property="og:description" content={description} />}
      {description && <meta name="description" content={description} />}
      {image && <meta property="og:image" content={image} />}
    </>
  )
}

/** The mark of the service above a form that stands alone. */
const Logo = () => (
  <span class="logo">
    <Icon name="feather" />
  </span>
)

const FlashMessage = ({ view: { flash } }: { view: PageView }) =>
  flash && (
    <p class={`flash ${flash.kind}`} role={flash.kind === 'alert' ? 'alert' : 'status'}>
      {flash.text}
    </p>
  )

const Footer = ({ view: { links, viewer, address } }: { view: PageView }) => (
  <footer class="footer">
    <a href={`${links.prefix}/help`}>{t('Help')}</a>
    <a href={`${links.prefix}/api/docs`}>{t('API')}</a>
    {!viewer && (
      <a href={`${links.prefix}/-/theme?${new URLSearchParams({ return_to: address })}`} rel="nofollow">
        {t('Colours')}
      </a>
    )}
  </footer>
)
