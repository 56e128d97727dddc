import { type Failure, failureText, STATUS } from '../../failures.js'
import { said, t } from '../language/language.js'
import type { Html, PageView } from '../page.js'

const titles = (): Partial<Record<Failure['kind'], [string, string]>> => ({
  invalid: [t('This request is not valid'), ''],
  unauthenticated: [t('You are not signed in'), t('Your session has ended. Sign in, and try again.')],
  forbidden: [t('You may not do this'), t('Ask a maintainer or an administrator if you need to.')],
  not_found: [t('Page not found'), t('It does not exist, or you may not see it. Check the address.')],
  too_large: [t('This is too large'), t('Send a smaller file or text.')],
  unprocessable: [t('This was not accepted'), ''],
  too_many: [t('Too many requests'), t('Wait a little, and try again.')],
  unavailable: [t('Not available at the moment'), t('Try again in a minute.')],
})

/** The page of a refused request. */
export function errorPage(failure: Failure, { links, viewer }: PageView): Html {
  const [title, advice] = titles()[failure.kind] ?? [t('This did not work'), '']
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
        {!silent && !/^(Forbidden|Bad Request)$/.test(reason) && <p>{said(reason.replace(/^(Forbidden - |Service Unavailable: )/, ''))}</p>}
        {advice && <p>{advice}</p>}
        <p>
          <a href={`${links.prefix}/`}>{t('Home')}</a>
          {!viewer && (
            <>
              {' · '}
              <a href={`${links.prefix}/users/sign_in`}>{t('Sign in')}</a>
            </>
          )}
        </p>
      </section>
    ),
  }
}
