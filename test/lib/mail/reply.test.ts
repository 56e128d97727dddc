import { describe, expect, it } from 'vitest'
import { replyIn } from '../../../src/lib/mail/reply.js'

describe('the text of an answer (ML-624)', () => {
  it.each([
    ['alone', 'Yes.\r\n\r\nAnd **no**.\r\n', 'Yes.\n\nAnd **no**.'],
    ['above a quotation', 'Yes.\n\nOn Mon, 30 Nov 2026 at 10:00, Ann <reply+x@example.com> wrote:\n\n> Is it?\n>\n> > Older\n', 'Yes.'],
    ['above one that is introduced in two lines', 'Yes.\n\nOn Mon, 30 Nov 2026 at 10:00, Ann\n<reply+x@example.com> wrote:\n> Is it?', 'Yes.'],
    ['in German', 'Ja.\n\nAm 30.11.2026 um 10:00 schrieb Ann:\n> Ist es so?\n', 'Ja.'],
    ['in French', 'Oui.\n\nLe lun. 30 nov. 2026 à 10:00, Ann <a@b.example> a écrit :\n> Vraiment ?\n', 'Oui.'],
    ['in Japanese', 'はい。\n\n2026年11月30日 10:00 Ann <a@b.example>:\n> ?', 'はい。'],
    ['above a quotation without an introduction', 'Yes.\n\n> Is it?\n', 'Yes.'],
    ['above an introduction whose quotation is gone', 'Yes.\n\nOn Mon, 30 Nov 2026, Ann <a@b.example> wrote:\n', 'Yes.'],
    ['below a quotation', 'On Monday Ann wrote:\n\n> Is it?\n> Really?\n\nYes.', 'Yes.'],
    ['between quotations', '> One?\n\nYes.\n\n> Two?\n\nNo.', '> One?\n\nYes.\n\n> Two?\n\nNo.'],
    ['with a signature', 'Yes.\n-- \nAnn\nA company', 'Yes.'],
    ['of a phone', 'Yes.\n\nSent from my iPhone\n\n> Is it?', 'Yes.'],
    ['of Outlook', 'Yes.\n\n________________________________\nFrom: Ann <a@b.example>\nSent: Monday\nTo: Ben\nSubject: It\n\nIs it?', 'Yes.'],
    ['of Outlook in German', 'Ja.\n\nVon: Ann\nGesendet: Montag\nAn: Ben\nBetreff: Es\n\nIst es so?', 'Ja.'],
    ['of an older Outlook', 'Yes.\n\n-----Original Message-----\nFrom: Ann\n\nIs it?', 'Yes.'],
    ['with commands', '/close\nDone.\n\n> Is it?', '/close\nDone.'],
    ['with a rule and a table', 'A\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |', 'A\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |'],
    ['with a colon and a list', 'From: here on:\n\n- a\n- b', 'From: here on:\n\n- a\n- b'],
    ['with nothing but a quotation', '> Is it?\n', ''],
    ['empty', '', ''],
  ])('%s', (_, text, expected) => expect(replyIn(text)).toBe(expected))

  it('is found in time in proportion to what is written, whatever it is', () => {
    for (const line of ['On ', '> ', '-', ' ', '_', 'From: a\n', 'wrote:\n', 'a <b@c>:\n', '\n', '> \n\n', 'On a wrote: <'])
      expect(replyIn(line.repeat(1_000_000 / line.length)).length).toBeLessThanOrEqual(1_000_000)
  })
})
