// @module-tag long
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { call, startService } from '../../../bench/kill.mjs'
import { build } from '../../../scripts/build.mjs'
import { soon } from '../../support/merge-requests.js'
import { rounds } from '../../support/rounds.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(async () => {})
beforeAll(async () => {
  await build()
})

it(
  'kill -9 of the service loses no mail, and sends one again only with the same id (ML-10)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mail-'))
    chmodSync(folder, 0o711)
    const environment = { SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' }
    let service = await startService(join(folder, 'data'), environment)
    try {
      const reader = { email: 'reader@example.com', username: 'reader', name: 'Reader', password: 'a long password', skip_confirmation: true }
      const { id: user_id } = (await call(service.url, 'POST', '/users', reader))?.body ?? {}
      const { id } = (await call(service.url, 'POST', '/projects', { name: 'mailed' }))?.body ?? {}
      expect(await call(service.url, 'POST', `/projects/${id}/members`, { user_id, access_level: 30 })).toMatchObject({ status: 201 })
      expect(await call(service.url, 'POST', `/projects/${id}/issues`, { title: 'One', assignee_ids: [user_id] })).toMatchObject({ status: 201 })
      const answered = new Set<string>()
      for (let round = 0; round < rounds(1, 3); round++) {
        let over = false
        const write = async () => {
          for (let n = 0; !over; n++) {
            const made = await call(service.url, 'POST', `/projects/${id}/issues/1/notes`, { body: `note ${round}-${n}.` })
            if (made?.status === 201) answered.add(`${round}-${n}`)
          }
        }
        const writing = write()
        await sleep(600 + Math.random() * 800)
        over = true
        await service.end('SIGKILL')
        await writing
        service = await startService(join(folder, 'data'), environment)
      }
      const notes = () => box.got.filter((mail) => mail.header('x-roost-event') === 'new_note')
      const mailed = () => new Set(notes().map(({ text = '' }) => /^note (\S+)\./.exec(text)?.[1]))
      await soon(async () => [...answered].every((note) => mailed().has(note)))
      expect(answered.size).toBeGreaterThan(0)
      // each note has one mail: what came twice came with one id
      expect(new Set(notes().map(({ messageId }) => messageId)).size).toBe(mailed().size)
      expect(mailed().size).toBeLessThanOrEqual(answered.size + rounds(1, 3))
    } finally {
      await service.end()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  },
  rounds(180_000, 900_000),
)
