import type { Caller } from '../access/actor.js'
import type { ProjectSubject } from '../access/rules.js'
import type { Context } from '../context.js'
import { presentUpload } from '../entities/projects/upload.js'
import { forbidden, invalidRecord, tooLarge } from '../failures.js'
import { isBag, type ParameterBag } from '../http/form.js'
import type { Upload } from '../http/uploads.js'
import { inlineType, storeUpload } from '../services/projects/uploads.js'
import { renderText } from './components/render-text.js'
import { renderWikiPage } from './components/wiki/render-page.js'
import { t } from './language/language.js'
import type { Refusal } from './page.js'

/** The longest text that is shown before it is saved, in bytes. */
const MAX_TEXT = 1_048_576

/**
 * What a form looks like again whose text is to be seen, or gets a file, before it is saved (WB-121, WB-122); null for
 * a form that is sent for good. The button names the field; one named `show` names what the page shows of it (WB-640).
 */
export async function drafted(ctx: Context, caller: Caller, subject: unknown, bag: ParameterBag): Promise<Refusal | null> {
  // the page shows it
  if (typeof bag['show'] === 'string') return { values: bag, faults: {}, message: null }
  const project = projectOf(subject)
  const previewed = fieldOf(bag, 'preview')
  if (previewed) {
    if (Buffer.byteLength(previewed.text) > MAX_TEXT) throw tooLarge()
    const isPage = project !== null && previewed.field === 'wiki[content]'
    const html = await (isPage
      ? renderWikiPage(ctx, caller, project, { slug: String(bag['path'] ?? ''), text: previewed.text })
      : renderText(ctx, caller, project, previewed.text))
    return { values: bag, faults: {}, message: null, preview: { field: previewed.field, html } }
  }
  const attached = fieldOf(bag, 'attach')
  if (!attached) return null
  const file = bag['upload'] as Upload | undefined
  if (!isFile(file)) return { values: bag, faults: {}, message: t('Choose a file to attach.') }
  if (!project || !caller.user || !project.can('upload_file')) throw forbidden()
  const upload = await storeUpload(ctx, caller, project, file)
  const { markdown } = presentUpload(upload, inlineType(upload.filename) !== null)
  attached.set(attached.text === '' ? markdown : `${attached.text}\n\n${markdown}`)
  return { values: bag, faults: {}, message: null }
}

const isFile = (file: Upload | undefined): file is Upload => typeof file === 'object' && file !== null && 'data' in file && file.filename !== ''

const projectOf = (subject: unknown): ProjectSubject | null =>
  typeof subject === 'object' && subject !== null && 'project' in subject && 'can' in subject ? (subject as ProjectSubject) : null

/** The field that a button names, such as `issue[description]`. */
function fieldOf(bag: ParameterBag, button: string) {
  const field = bag[button]
  if (typeof field !== 'string' || field === '') return null
  const names = field.replace(/\]/g, '').split('[')
  const last = names.pop() as string
  let holder: unknown = bag
  for (const name of names) holder = isBag(holder) ? holder[name] : undefined
  if (!isBag(holder) || typeof holder[last] !== 'string') throw invalidRecord({ base: [`has no field ${field}`] })
  const at = holder
  return {
    field,
    text: at[last] as string,
    set(text: string) {
      at[last] = text
    },
  }
}
