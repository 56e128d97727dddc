import type { WholeAddress } from '../../../http/redirect.js'
import { Phrase } from '../../language/phrase.js'
import type { Html } from '../../page.js'

/**
 * A page that leads to another site by itself. A redirect would not do: a form may lead only to this service (WB-4), and
 * some browsers hold the pages that follow to that, too.
 */
export const leadOut = (title: string, { href: to }: WholeAddress): Html => ({
  title,
  narrow: true,
  headers: { refresh: `0; url=${to}`, 'cache-control': 'no-store' },
  body: (
    <>
      <h1>{title}</h1>
      <p>
        <Phrase text="You are being led to {link}." link={<a href={to}>{new URL(to).host}</a>} />
      </p>
    </>
  ),
})
