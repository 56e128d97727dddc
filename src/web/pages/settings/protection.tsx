import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, oneOfNumbers, opt, orDefault, paging, rowId, searchText } from '../../../http/params.js'
import {
  changeProtectedBranch,
  listProtectedBranches,
  listProtectedTags,
  protectBranch,
  protectTag,
  removeProtectedBranch,
  removeProtectedTag,
} from '../../../services/repository/protected-branches.js'
import { type ProtectedBranch, protectionsOf } from '../../../services/repository/protection.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { type Fields, fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectSettings } from '../../layout/manage.js'
import { homeOfProject } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

const access = onProjectSignedIn('manage_protection')
const PER_PAGE = 20
const titled = (title: string, { project }: ProjectSubject) => `${title} · ${fullPathOf(project)}`
const branches = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/protected_branches`
const tags = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/protected_tags`
const level = () => orDefault(oneOfNumbers([0, 30, 40]), 40)
const byId = { entry_id: rowId() }

const whoTexts = () =>
  [
    { value: '40', label: t('Maintainers') },
    { value: '30', label: t('Developers and maintainers') },
    { value: '0', label: t('No one') },
  ] as const
const whoText = (given: number) => ({ 40: t('maintainers'), 30: t('developers and maintainers'), 0: t('no one') })[given] ?? ''

const branchLevels = z.object({ merge_access_level: level(), push_access_level: level(), allow_force_push: orDefault(bool(), false) })

const BranchFields = ({ fields: f, entry }: { fields: Fields<z.infer<typeof branchLevels>>; entry?: ProtectedBranch }) => {
  return (
    <>
      <div class="columns">
        <SelectField {...f.merge_access_level} label={t('Allowed to merge')} value={String(entry?.merge_level ?? 40)} choices={whoTexts()} />
        <SelectField {...f.push_access_level} label={t('Allowed to push')} value={String(entry?.push_level ?? 40)} choices={whoTexts()} />
      </div>
      <Checkbox {...f.allow_force_push} label={t('Allowed to force push')} checked={entry?.allow_force_push ?? false} />
    </>
  )
}

const newBranchProtection = z.object({ protected_branch: branchLevels.extend({ name: orDefault(documented.title(), '') }) })
const changedBranchProtection = z.object({ protected_branch: branchLevels })

export const protectedBranchesPage = page({
  at: 'P/-/protected_branches',
  access,
  input: z.object({ search: opt(searchText()), page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const { items, total } = await listProtectedBranches(ctx, subject, { search: input.search, page: input.page, per_page: PER_PAGE })
    const at = branches(subject)
    const f = fieldsOf(view, newBranchProtection).protected_branch
    return {
      title: titled(t('Protected branches'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/protected_branches" title={t('Protected branches')}>
          <p>{t('A protected branch is changed only by those who are named here, and cannot be deleted by a push.')}</p>
          {(total > PER_PAGE || input.search !== undefined) && (
            <SearchForm action={view.links.prefix + at} label={t('Find a protected branch')} value={input.search} />
          )}
          <Rows empty={input.search ? t('No protected branch has this in its name.') : t('No branch is protected.')}>
            {items.map((entry) => (
              <Row
                key={entry.id}
                actions={
                  <>
                    <a class="button" href={`${view.links.prefix}${at}/${entry.id}`} aria-label={t('Change {name}', { name: entry.name })}>
                      {t('Change')}
                    </a>
                    <ActionButton view={view} action={`${at}/${entry.id}`} method="DELETE" label={t('Unprotect')} what={entry.name} class="danger" />
                  </>
                }
              >
                <span>
                  <code>{entry.name}</code> {entry.allow_force_push && <Badge kind="waiting">{t('force push')}</Badge>}
                </span>
                <span class="dim">
                  <Phrase text="Merge: {who}" who={whoText(entry.merge_level)} />
                  {' · '}
                  <Phrase text="Push: {who}" who={whoText(entry.push_level)} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          <h2>{t('Protect a branch')}</h2>
          <FormTag view={view} action={at}>
            <FormFaults view={view} />
            <Field {...f.name} label={t('Branch')} hint={t('A name, or a pattern such as release/*.')} />
            <BranchFields fields={f} />
            <Submit label={t('Protect')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const branchProtection = form({
  at: 'P/-/protected_branches',
  access,
  input: newBranchProtection,
  on: protectedBranchesPage,
  async submit({ ctx, subject, input: { protected_branch: entry } }) {
    const { name } = await protectBranch(ctx, subject, { ...entry, name: entry.name.trim() })
    return new Redirect(branches(subject), { notice: t('{name} is protected.', { name }) })
  },
})

async function branchOf(ctx: Context, { project }: ProjectSubject, id: number): Promise<ProtectedBranch> {
  const entry = (await protectionsOf(ctx, project.id)).branches.find((each) => each.id === id)
  if (!entry) throw notFound()
  return entry
}

export const protectedBranchPage = page({
  at: 'P/-/protected_branches/:entry_id',
  access,
  input: z.object(byId),
  async show({ ctx, subject, input, view }) {
    const entry = await branchOf(ctx, subject, input.entry_id)
    return {
      title: titled(entry.name, subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/protected_branches" title={entry.name}>
          <FormTag view={view} action={`${branches(subject)}/${entry.id}`} method="PUT">
            <FormFaults view={view} />
            <BranchFields fields={fieldsOf(view, changedBranchProtection).protected_branch} entry={entry} />
            <Submit label={t('Save changes')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const branchProtectionChange = form({
  at: 'P/-/protected_branches/:entry_id',
  method: 'PUT',
  access,
  input: changedBranchProtection.extend(byId),
  on: protectedBranchPage,
  async submit({ ctx, subject, input: { entry_id, protected_branch: given } }) {
    const { name } = await branchOf(ctx, subject, entry_id)
    const { merge_access_level: merge_level, push_access_level: push_level, allow_force_push } = given
    await changeProtectedBranch(ctx, subject, name, { merge_level, push_level, allow_force_push })
    return new Redirect(branches(subject), { notice: t('The protection of {name} is changed.', { name }) })
  },
})

export const branchUnprotection = form({
  at: 'P/-/protected_branches/:entry_id',
  method: 'DELETE',
  access,
  input: z.object(byId),
  async submit({ ctx, subject, input }) {
    const { name } = await branchOf(ctx, subject, input.entry_id)
    await removeProtectedBranch(ctx, subject, name)
    return new Redirect(branches(subject), { notice: t('{name} is no longer protected.', { name }) })
  },
})

const newTagProtection = z.object({ protected_tag: z.object({ name: orDefault(documented.title(), ''), create_access_level: level() }) })

export const protectedTagsPage = page({
  at: 'P/-/protected_tags',
  access,
  input: z.object({ page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const { items, total } = await listProtectedTags(ctx, subject, { page: input.page, per_page: PER_PAGE })
    const at = tags(subject)
    const f = fieldsOf(view, newTagProtection).protected_tag
    return {
      title: titled(t('Protected tags'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/protected_tags" title={t('Protected tags')}>
          <p>{t('A protected tag is made only by those who are named here, and is not changed afterwards.')}</p>
          <Rows empty={t('No tag is protected.')}>
            {items.map(({ id, name, create_level }) => (
              <Row
                key={id}
                actions={<ActionButton view={view} action={`${at}/${id}`} method="DELETE" label={t('Unprotect')} what={name} class="danger" />}
              >
                <code>{name}</code>
                <span class="dim">
                  <Phrase text="Create: {who}" who={whoText(create_level)} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          <h2>{t('Protect a tag')}</h2>
          <FormTag view={view} action={at}>
            <FormFaults view={view} />
            <Field {...f.name} label={t('Tag')} hint={t('A name, or a pattern such as v*.')} />
            <SelectField {...f.create_access_level} label={t('Allowed to create')} value="40" choices={whoTexts()} />
            <Submit label={t('Protect')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const tagProtection = form({
  at: 'P/-/protected_tags',
  access,
  input: newTagProtection,
  on: protectedTagsPage,
  async submit({ ctx, subject, input: { protected_tag: given } }) {
    const { name } = await protectTag(ctx, subject, given.name.trim(), given.create_access_level)
    return new Redirect(tags(subject), { notice: t('{name} is protected.', { name }) })
  },
})

export const tagUnprotection = form({
  at: 'P/-/protected_tags/:entry_id',
  method: 'DELETE',
  access,
  input: z.object(byId),
  async submit({ ctx, subject, input }) {
    const entry = (await protectionsOf(ctx, subject.project.id)).tags.find(({ id }) => id === input.entry_id)
    if (!entry) throw notFound()
    await removeProtectedTag(ctx, subject, entry.name)
    return new Redirect(tags(subject), { notice: t('{name} is no longer protected.', { name: entry.name }) })
  },
})
