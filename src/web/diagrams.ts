import type { FastifyInstance } from 'fastify'
import { noSuchRoute } from '../failures.js'
import { OnDemandScripts } from './on-demand.js'

/**
 * What the frame of a diagram may do: run the scripts of this folder, and style what they draw. It has no origin, and so
 * neither the cookies nor the pages of the service; it reaches nothing (MD-23).
 */
const FRAME_POLICY =
  "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

/** Serves what draws the diagrams of texts in browsers, which only pages with a diagram load: a hundred scripts, of which a page loads some. */
export class Diagrams {
  readonly #scripts: OnDemandScripts

  constructor(prefix: string) {
    this.#scripts = new OnDemandScripts(prefix, 'diagrams')
  }

  /** The address of the script of such pages; undefined where the service was not built. */
  script = (): Promise<string | undefined> => this.#scripts.addressOf('page')

  serve(app: FastifyInstance): void {
    app.get('/-/diagram', { config: { policy: 'anyone' } }, async (_, reply) => {
      const frame = await this.#scripts.addressOf('frame')
      if (frame === undefined) throw noSuchRoute()
      reply.headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': FRAME_POLICY, 'cache-control': 'no-cache' })
      return reply.send(
        `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Diagram</title><style>body{margin:0;text-align:center}svg{max-width:100%;height:auto}</style><script type="module" src="${frame}"></script></head><body></body></html>\n`,
      )
    })
    // the frame has no origin
    this.#scripts.serve(app, { 'access-control-allow-origin': '*' })
  }
}
