import { expect } from 'vitest'
import type { TestApp } from '../../support/app.js'
import type { Credentialed } from '../../support/factories.js'

/** An object of an answer. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer follows from its query
export type Found = any

export interface AnswerBody {
  data?: Found
  errors?: { message: string; path?: unknown }[]
}

/** Asks a service by GraphQL; anonymously without a caller. */
export function askOf(t: TestApp) {
  const send = (body: object, who: Credentialed | null | undefined, headers: Record<string, string> = {}) =>
    fetch(`${t.url}/api/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(who && { authorization: `Bearer ${who.token}` }), ...headers },
      body: JSON.stringify(body),
    })

  /** The answer with its errors. */
  const ask = async (query: string, who?: Credentialed | null, variables: object = {}): Promise<AnswerBody> => {
    const response = await send({ query, variables }, who)
    expect(response.status).toBe(200)
    return (await response.json()) as AnswerBody
  }

  /** The data of an answer without errors. */
  const data = async (query: string, who?: Credentialed | null, variables: object = {}): Promise<Found> => {
    const body = await ask(query, who, variables)
    expect(body.errors).toBeUndefined()
    return body.data
  }

  /** The errors of an answer. */
  const errors = async (query: string, who?: Credentialed | null, variables: object = {}) =>
    ((await ask(query, who, variables)).errors ?? []).map(({ message }) => message)

  return { send, ask, data, errors }
}
