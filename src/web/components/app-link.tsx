import type { Environment } from '../../services/ci/environments/environments.js'
import { Phrase } from '../language/phrase.js'

interface Props {
  environment: Pick<Environment, 'name' | 'external_url' | 'state'>
  class?: string
}

/** Leads to what was deployed; nothing if that has no address of the web. */
export const AppLink = ({ environment: { name, external_url: url, state }, class: look }: Props) =>
  url !== null && /^https?:/i.test(url) && state !== 'stopped' ? (
    <a {...(look && { class: look })} href={url} rel="nofollow noopener">
      <Phrase text="View app{name}" name={<span class="hidden"> {name}</span>} />
    </a>
  ) : null
