import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as documented from '../../src/http/documented.js'
import { bool, date, file, int, list, oneOf, oneOrMore, opt, orDefault, str } from '../../src/http/params.js'
import { Slices } from '../../src/lib/async/slices.js'
import { Checkbox, Field, FormFaults, SelectField, TextField } from '../../src/web/components/form.js'
import { fieldsOf } from '../../src/web/fields.js'
import type { PageView } from '../../src/web/page.js'
import { renderInParts } from '../../src/web/page-part.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin } from '../support/factories.js'

const input = z.object({
  thing: z.object({
    title: orDefault(documented.title(), ''),
    text: opt(documented.filled()),
    note: orDefault(str(), ''),
    address: orDefault(documented.email(), ''),
    day: opt(date()),
    count: int({ min: 0 }),
    kind: opt(oneOf(['a', 'b'])),
    secret: orDefault(bool(), false),
    marks: opt(list(str())),
    people: opt(oneOrMore(str())),
    picture: opt(file()),
    links: opt(list(z.object({ url: documented.filled() }))),
  }),
  version: opt(str()),
})

const fresh = { submitted: null } as unknown as PageView
const refused = (faults: Record<string, string[]>, values = {}) =>
  ({ submitted: { values, faults, message: null, shown: new Set() } }) as unknown as PageView

describe('the fields of a form', () => {
  it('have the name that is sent, and the attributes that follow from their type', () => {
    const { thing, version } = fieldsOf(fresh, input)
    const bare = ({ view, ...rest }: { view: PageView }) => rest
    expect([bare(version), ...Object.values(thing).flatMap((one) => (typeof one === 'function' ? bare(one(3).url) : bare(one)))]).toEqual([
      { name: 'version' },
      { name: 'thing[title]', required: true, maxlength: 255 },
      { name: 'thing[text]', required: true },
      { name: 'thing[note]' },
      { name: 'thing[address]', type: 'email', required: true, maxlength: 254 },
      { name: 'thing[day]', type: 'date' },
      { name: 'thing[count]', type: 'number', required: true },
      { name: 'thing[kind]', required: true },
      { name: 'thing[secret]' },
      { name: 'thing[marks][]' },
      { name: 'thing[people]' },
      { name: 'thing[picture]', type: 'file' },
      { name: 'thing[links][3][url]', required: true },
    ])
  })

  it('compile only by their names, and where they fit', () => {
    const { thing } = fieldsOf(fresh, input)
    // @ts-expect-error a misspelt name
    expect(thing.titel).toBeUndefined()
    // @ts-expect-error a name by hand
    h(Field, { view: fresh, name: 'thing[title]', label: 'Title' })
    // @ts-expect-error a switch as a text
    h(Field, { ...thing.secret, label: 'Secret' })
    // @ts-expect-error a day as a switch
    h(Checkbox, { ...thing.count, label: 'Count' })
    expect(renderToString(h(Checkbox, { ...thing.secret, label: 'Secret' }))).toContain('name="thing[secret]" value="1"')
    expect(renderToString(h(SelectField, { ...thing.kind, label: 'Kind', choices: [] }))).toContain('<select name="thing[kind]" id="thing_kind">')
  })

  it('say their faults themselves, and the form only those of fields that no page shows (WB-6)', async () => {
    const shownAs = async (view: PageView) => {
      const { thing } = fieldsOf(view, input)
      const page = h('form', null, [
        h(FormFaults, { view }),
        h(Field, { ...thing.title, label: 'Title' }),
        h(TextField, { ...thing.text, label: 'Text' }),
      ])
      return (await renderInParts(new Slices(), page)).bytes.toString()
    }
    const beside = await shownAs(refused({ title: ['is too long'] }, { thing: { title: 'typed', text: 'lines' } }))
    expect(beside).toContain('role="alert">This was not saved: see the fields below.</div>')
    expect(beside).toContain('id="thing_title_fault">Title is too long.</p>')
    expect(beside).toContain('value="typed"')
    expect(beside).toContain('\nlines</textarea>')
    const other = await shownAs(refused({ title: ['is too long'], due_on: ['is in the past'] }))
    expect(other).toContain('role="alert"><p>Due on is in the past</p></div>')
    expect(await shownAs(fresh)).not.toContain('alert')
  })
})

describe('a form that is refused (WB-6)', () => {
  const t = testApp()

  it('shows each fault once: beside its field, or above the form', async () => {
    const browser = new TestBrowser(t.url)
    await browser.signIn(await anAdmin(t.ctx))
    await browser.open('/admin/applications')
    const page = await browser.submit('Add application', { 'doorkeeper_application[redirect_uri]': 'https://a.example/x' })
    expect(page.status).toBe(422)
    const { $ } = page
    expect($('#doorkeeper_application_name_fault').text()).toMatch(/^Name can't be blank/)
    expect($('.flash.alert').text()).not.toContain('Name')
    expect($('.flash.alert').text()).toContain('Scopes')
    expect($('#doorkeeper_application_name').attr()).toMatchObject({ required: '', 'aria-invalid': 'true' })
  })
})
