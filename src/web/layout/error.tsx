import { type Failure, failureText, STATUS } from '../../failures.js'
import type { Html, PageView } from '../page.js'

const TITLES: Partial<Record<Failure['kind'], [string, string]>> = {
  invalid: ['This request is not valid', ''],
  unauthenticated: ['You are not signed in', 'Your session has ended. Sign in, and try again.'],
  forbidden: ['You may not do this', 'Ask a maintainer or an administrator if you need to.'],
  not_found: ['Page not found', 'It does not exist, or you may not see it. Check the address.'],
  too_large: ['This is too large', 'Send a smaller file or text.'],
  unprocessable: ['This was not accepted', ''],
  too_many: ['Too many requests', 'Wait a little, and try again.'],
  unavailable: ['Not available at the moment', 'Try again in a minute.'],
}

/** The page of a refused request. */
export function errorPage(failure: Failure, { links, viewer }: PageView): Html {
  const [title, advice] = TITLES[failure.kind] ?? ['This did not work', '']
  const { body } = failure
  const description = typeof body === 'object' && 'error_description' in body ? String(body['error_description']) : null
  const reason = description ?? failureText(body)
  // what the API says of these is no sentence
  const silent = failure.kind === 'not_found' || failure.kind === 'unauthenticated' || failure.kind === 'too_many'
  return {
    title,
    status: STATUS[failure.kind],
    body: (
      <section class="error">
        <h1>{title}</h1>
        {!silent && !/^(Forbidden|Bad Request)$/.test(reason) && <p>{reason.replace(/^(Forbidden - |Service Unavailable: )/, '')}</p>}
        {advice && <p>{advice}</p>}
        <p>
          <a href={`${links.prefix}/`}>Home</a>
          {!viewer && (
            <>
              {' · '}
              <a href={`${links.prefix}/users/sign_in`}>Sign in</a>
            </>
          )}
        </p>
      </section>
    ),
  }
}
