import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.js'
import { Argon2 } from '../../src/lib/crypto/argon2.js'
import { Unavailable } from '../../src/lib/unavailable.js'

const argon2 = new Argon2({ memory: 8, passes: 1 })
afterAll(() => argon2.close())

describe('hashing of passwords (SEC-25, SEC-26)', () => {
  it('verifies what it hashed, and nothing else', async () => {
    const stored = await argon2.hash('a password')
    expect(await argon2.hash('a password')).not.toBe(stored)
    expect(await argon2.verify(stored, 'a password')).toBe(true)
    expect(await argon2.verify(stored, 'another one')).toBe(false)
    await expect(argon2.verify('no hash', 'a password')).rejects.toThrow()
    expect(await argon2.verify(stored, 'a password')).toBe(true)
  })

  it('costs 19 MiB and two passes unless configured otherwise', async () => {
    const configured = new Argon2(readConfig({}).argon2)
    const stored = await configured.hash('a password')
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await configured.verify(stored, 'a password')).toBe(true)
    await configured.close()
  })

  it('an account without a password is checked at the cost of all others (SEC-27)', async () => {
    const costOf = (stored: string) => stored.split('$').slice(0, 4)
    expect(costOf(argon2.decoy)).toEqual(costOf(await argon2.hash('a password')))
    expect(await argon2.verify(argon2.decoy, 'a password')).toBe(false)
  })

  it('two at once, 32 waiting, and no more; callers who may set a password wait', async () => {
    const stored = (await Promise.all(Array.from({ length: 50 }, () => argon2.hash('a password'))))[49] as string
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => argon2.verify(stored, 'a password')))
    const refused = answers.filter((answer) => answer.status === 'rejected')
    expect(refused.map(({ reason }) => reason instanceof Unavailable && reason.retryAfter > 0)).toEqual(Array(16).fill(true))
    await argon2.hash('a password')
  })

  it('asks once more before it begins', async () => {
    const stored = await argon2.hash('a password')
    const begin = () => Promise.reject(new Error('not any more'))
    const answers = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => argon2.verify(stored, 'a password', i < 3 ? {} : { begin })))
    expect(answers.map(({ status }) => status)).toEqual([...Array(3).fill('fulfilled'), ...Array(7).fill('rejected')])
  })

  it.runIf(process.platform === 'linux')('in threads that stand back behind all others', async () => {
    await argon2.hash('a password')
    const nices = readdirSync('/proc/self/task').map((id) =>
      Number(readFileSync(`/proc/self/task/${id}/stat`, 'latin1').split(') ')[1]?.split(' ')[16]),
    )
    const own = Number(readFileSync('/proc/thread-self/stat', 'latin1').split(') ')[1]?.split(' ')[16])
    expect(nices.filter((nice) => nice === Math.min(19, own + 10))).not.toEqual([])
    expect(nices.filter((nice) => nice === own).length).toBeGreaterThan(4)
  })

  it('ends with the service: what waits is refused, and nothing is begun', async () => {
    const ending = new Argon2(argon2.cost)
    const waiting = Promise.allSettled(Array.from({ length: 8 }, () => ending.hash('a password')))
    await ending.close()
    expect((await waiting).filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
    await expect(ending.hash('a password')).rejects.toThrow(Unavailable)
  })
})
