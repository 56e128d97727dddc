import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { type GroupSubject, getGroupFor, getGroupOrDeletedFor, onGroupOrDeletedSignedIn, onGroupSignedIn } from '../../../access/rules.js'
import { Failure, forbidden, invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, file, int, oneOf, opt, orDefault, paging, searchText, str } from '../../../http/params.js'
import { asPath } from '../../../lib/numeric-id.js'
import { PROJECT_CREATION_LEVELS, SUBGROUP_CREATION_LEVELS } from '../../../rules/creation-levels.js'
import { formerPath } from '../../../rules/path.js'
import { VISIBILITIES, VISIBILITY_LEVEL, visibilityName } from '../../../rules/visibility.js'
import { groupsToCreateIn } from '../../../services/groups/creatable.js'
import { listGroups } from '../../../services/groups/list.js'
import { updateGroup } from '../../../services/groups/update.js'
import { deleteGroup, restoreGroup } from '../../../services/operations/group-deletion.js'
import { transferGroup } from '../../../services/operations/group-transfer.js'
import { ActionButton, Checkbox, DataList, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../components/form.js'
import { Pager } from '../../components/list.js'
import { PictureField, pictureOf } from '../../components/people/avatar.js'
import { GroupRows } from '../../components/projects/group-rows.js'
import { visibilityChoices } from '../../components/projects/visibility.js'
import { SearchForm } from '../../components/search.js'
import { dayText } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { GroupLayout } from '../../layout/group.js'
import { GroupSettings } from '../../layout/manage.js'
import { DELETED_PROJECTS, homeOfGroup } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { onGroupPage } from '../../subjects.js'
import { Confirmed, checkTyped, confirmation } from './deletion.js'

const manage = onGroupSignedIn('manage_group')
const titled = (title: string, { group }: GroupSubject) => `${title} · ${group.full_path}`
const unchecked = () => orDefault(bool(), false)
const text = () => orDefault(str(), '')
const PER_PAGE = 20

export const subgroupsPage = page({
  at: 'G/-/subgroups',
  access: onGroupPage,
  input: z.object({ page: paging.page, search: opt(searchText()) }),
  async show({ ctx, caller, subject, input, view }) {
    const { group } = subject
    const filter = { parentId: group.id, search: input.search, order_by: 'name', sort: 'asc', page: input.page, per_page: PER_PAGE } as const
    const { items, total } = await listGroups(ctx, caller, filter)
    return {
      title: titled(t('Subgroups'), subject),
      body: (
        <GroupLayout view={view} subject={subject} tab="subgroups">
          <div class="heading">
            <h1>{t('Subgroups')}</h1>
            {view.viewer && subject.can('create_subgroup') && (
              <a class="button primary" href={`${view.links.prefix}/groups/new?parent_id=${group.id}`}>
                {t('New subgroup')}
              </a>
            )}
          </div>
          <SearchForm action={`${view.links.prefix}${homeOfGroup(subject)}/-/subgroups`} label={t('Find a subgroup')} value={input.search} />
          <GroupRows
            view={view}
            groups={items}
            empty={input.search ? t('No subgroup has this in its name.') : t('There are no subgroups that you may see.')}
          />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </GroupLayout>
      ),
    }
  },
})

const general = z.object({
  group: z.object({ name: opt(documented.groupName()), description: opt(str()), visibility_level: opt(oneOf(VISIBILITIES)), avatar: opt(file()) }),
})

export const groupGeneralPage = page({
  at: 'G/-/edit',
  access: manage,
  async show({ ctx, caller, subject, view }) {
    const { group } = subject
    const parent = group.parent_id === null ? null : await getGroupFor(ctx, caller, String(group.parent_id))
    const at = `${homeOfGroup(subject)}/-/edit`
    const f = fieldsOf(view, general).group
    return {
      title: titled(t('Settings'), subject),
      body: (
        <GroupSettings view={view} subject={subject} at="-/edit" title={t('General')}>
          <FormTag view={view} action={at} method="PUT" files>
            <FormFaults view={view} />
            <Field {...f.name} label={t('Name')} value={group.name} />
            <TextField {...f.description} label={t('Description')} value={group.description} rows={3} />
            <SelectField
              {...f.visibility_level}
              label={t('Visibility')}
              value={visibilityName(group.visibility)}
              choices={visibilityChoices(view, parent?.group.visibility ?? VISIBILITY_LEVEL.public, group.visibility)}
              hint={t('Nothing in the group may be more visible.')}
            />
            <PictureField {...f.avatar} />
            <Submit label={t('Save changes')} />
          </FormTag>
          {group.avatar && (
            <ActionButton view={view} action={`${homeOfGroup(subject)}/-/avatar`} method="DELETE" label={t('Remove avatar')} class="danger" />
          )}
        </GroupSettings>
      ),
    }
  },
})

export const groupGeneralForm = form({
  at: 'G/-/edit',
  method: 'PUT',
  access: manage,
  input: general,
  files: true,
  on: groupGeneralPage,
  async submit({ ctx, caller, subject, input: { group } }) {
    const { avatar, visibility_level, ...rest } = group
    await updateGroup(ctx, caller, subject, { ...rest, visibility: visibility_level, avatar: pictureOf(avatar) })
    return new Redirect(`${homeOfGroup(subject)}/-/edit`, { notice: t('Settings updated.') })
  },
})

export const groupAvatarRemoval = form({
  at: 'G/-/avatar',
  method: 'DELETE',
  access: manage,
  async submit({ ctx, caller, subject }) {
    await updateGroup(ctx, caller, subject, { avatar: null })
    return new Redirect(`${homeOfGroup(subject)}/-/edit`, { notice: t('Avatar removed.') })
  },
})

const projectMakers = () =>
  [
    { value: 'developer', label: t('Developers and above') },
    { value: 'maintainer', label: t('Maintainers and above') },
    { value: 'noone', label: t('No one') },
  ] as const
const subgroupMakers = () =>
  [
    { value: 'maintainer', label: t('Maintainers and above') },
    { value: 'owner', label: t('Owners') },
  ] as const
const protections = () =>
  [
    { value: '', label: t('As the instance says') },
    { value: '0', label: t('None: developers push and force push') },
    { value: '1', label: t('Partial: developers push, nobody force pushes') },
    { value: '3', label: t('Developers merge, maintainers push') },
    { value: '2', label: t('Full: maintainers push and merge') },
  ] as const
const switches = () =>
  [
    ['request_access_enabled', t('People may request access'), t('Who sees the group without being a member asks, and owners answer.')],
    ['share_with_group_lock', t('Projects in it cannot be shared with other groups'), t('Also those of subgroups.')],
    ['lfs_enabled', t('Git LFS'), undefined],
    ['emails_disabled', t('Send no mail about what happens in it'), undefined],
    ['mentions_disabled', t('The group cannot be mentioned'), undefined],
    ['require_two_factor_authentication', t('Members must use a second factor'), undefined],
  ] as const

const permissions = z.object({
  group: z.object({
    project_creation_level: opt(oneOf([...PROJECT_CREATION_LEVELS])),
    subgroup_creation_level: opt(oneOf([...SUBGROUP_CREATION_LEVELS])),
    default_branch_protection: opt(int({ min: 0, max: 3 })),
    request_access_enabled: unchecked(),
    share_with_group_lock: unchecked(),
    lfs_enabled: unchecked(),
    emails_disabled: unchecked(),
    mentions_disabled: unchecked(),
    require_two_factor_authentication: unchecked(),
    default_branch: text(),
    two_factor_grace_period: text(),
  }),
})

export const permissionsPage = page({
  at: 'G/-/settings/permissions',
  access: manage,
  async show({ subject, view }) {
    const { group } = subject
    const f = fieldsOf(view, permissions).group
    return {
      title: titled(t('Permissions'), subject),
      body: (
        <GroupSettings view={view} subject={subject} at="-/settings/permissions" title={t('Permissions')}>
          <FormTag view={view} action={`${homeOfGroup(subject)}/-/settings/permissions`} method="PUT">
            <FormFaults view={view} />
            <div class="columns">
              <SelectField
                {...f.project_creation_level}
                label={t('Who creates projects')}
                value={group.project_creation_level}
                choices={projectMakers()}
              />
              <SelectField
                {...f.subgroup_creation_level}
                label={t('Who creates subgroups')}
                value={group.subgroup_creation_level}
                choices={subgroupMakers()}
              />
            </div>
            <SelectField
              {...f.default_branch_protection}
              label={t('Protection of new default branches')}
              value={group.default_branch_protection === null ? '' : String(group.default_branch_protection)}
              choices={group.default_branch_protection === null ? protections() : protections().slice(1)}
            />
            <Field
              {...f.default_branch}
              label={t('Default branch of new projects')}
              value={group.default_branch ?? ''}
              hint={t('Empty: as the group above has it, or the service.')}
            />
            {switches().map(([name, label, hint]) => (
              <Checkbox key={name} {...f[name]} label={label} hint={hint} checked={group[name]} />
            ))}
            <Field
              {...f.two_factor_grace_period}
              type="number"
              label={t('Hours until a second factor is set up')}
              value={String(group.two_factor_grace_period)}
            />
            <Submit label={t('Save changes')} />
          </FormTag>
        </GroupSettings>
      ),
    }
  },
})

export const permissionsForm = form({
  at: 'G/-/settings/permissions',
  method: 'PUT',
  access: manage,
  input: permissions,
  on: permissionsPage,
  async submit({ ctx, caller, subject, input: { group } }) {
    const hours = group.two_factor_grace_period.trim()
    if (!/^\d{1,4}$/.test(hours) || Number(hours) > MAX_GRACE)
      throw invalidRecord({ two_factor_grace_period: [t('must be from 0 to {most}', { most: MAX_GRACE })] })
    await updateGroup(ctx, caller, subject, { ...group, default_branch: group.default_branch.trim(), two_factor_grace_period: Number(hours) })
    return new Redirect(`${homeOfGroup(subject)}/-/settings/permissions`, { notice: t('Permissions updated.') })
  },
})

const MAX_GRACE = 8_760

/** For those who manage a group, and for owners while it waits for its removal. */
const onAdvanced: Access<GroupSubject, true> = {
  ...manage,
  rule: 'signed in, group: manage_group or remove_group',
  async find(ctx, caller, params) {
    const subject = await getGroupOrDeletedFor(ctx, caller, params['id'] as string)
    if (!subject.can('manage_group') && !subject.can('remove_group')) throw forbidden()
    return subject
  },
}

export const groupAdvancedPage = page({
  at: 'G/-/settings/advanced',
  access: onAdvanced,
  async show({ ctx, caller, subject, view }) {
    const { group } = subject
    const waits = group.marked_for_deletion_at !== null
    const groups = waits || !subject.can('manage_group') ? [] : await groupsToCreateIn(ctx, caller, 'subgroup')
    return {
      title: titled(t('Advanced settings'), subject),
      body: (
        <GroupSettings view={view} subject={subject} at="-/settings/advanced" title={t('Advanced')}>
          <FormFaults view={view} />
          {waits ? (
            <Waiting view={view} subject={subject} />
          ) : (
            <Changes view={view} subject={subject} places={groups.map(({ full_path }) => full_path)} toTop={caller.user.can_create_group} />
          )}
        </GroupSettings>
      ),
    }
  },
})

const newPath = z.object({ group: z.object({ path: orDefault(documented.namespacePath(), '') }) })

function Changes({ view, subject, ...moving }: { view: PageView; subject: GroupSubject; places: string[]; toTop: boolean }) {
  const { group } = subject
  const days = view.settings.deletion_delay_days
  const f = fieldsOf(view, newPath).group
  return (
    <>
      <h2>{t('Change the path')}</h2>
      <FormTag view={view} action={`${homeOfGroup(subject)}/-/path`} method="PUT">
        <Field
          {...f.path}
          label={t('Path')}
          value={group.path}
          hint={t('The addresses of all its projects change with it; Git goes on with the former ones.')}
        />
        <Submit label={t('Change path')} class="" />
      </FormTag>
      <Moving view={view} subject={subject} {...moving} />
      <h2>{t('Delete')}</h2>
      <p>
        <Phrase
          text="The group, its subgroups and all their projects are deleted. {after}"
          after={
            days > 0
              ? plural(
                  days,
                  'They are hidden at once, and can be restored for {count} day.',
                  'They are hidden at once, and can be restored for {count} days.',
                )
              : t('This cannot be undone.')
          }
        />
      </p>
      <Confirmed view={view} action={homeOfGroup(subject)} fullPath={group.full_path} label={t('Delete group')} />
    </>
  )
}

const transfer = z.object({ group: z.object({ parent: text() }) })

function Moving({ view, subject, places, toTop }: { view: PageView; subject: GroupSubject; places: string[]; toTop: boolean }) {
  const { group } = subject
  const others = places.filter((path) => !`${path}/`.startsWith(`${group.full_path}/`) && path !== group.full_path.replace(/\/[^/]*$/, ''))
  const mayRise = group.parent_id !== null && toTop
  if (!mayRise && others.length === 0) return null
  const f = fieldsOf(view, transfer).group
  return (
    <>
      <h2>{t('Transfer')}</h2>
      <p>
        {t(
          'The group moves with its subgroups and projects. Members of the groups above it lose the access that they have by them, and nothing in it stays more visible than its new parent.',
        )}
      </p>
      <FormTag view={view} action={`${homeOfGroup(subject)}/-/transfer`} method="PUT">
        <Field
          {...f.parent}
          label={t('New parent group')}
          list="parents"
          hint={mayRise ? t('Empty: to the top level.') : undefined}
          required={!mayRise}
        />
        <DataList id="parents" values={others} />
        <Submit label={t('Transfer group')} class="danger" />
      </FormTag>
    </>
  )
}

function Waiting({ view, subject }: { view: PageView; subject: GroupSubject }) {
  const { group } = subject
  const former = formerPath(group.full_path)
  if (!group.deletion_due_at) return <p class="empty">{t('A group above this one waits for its removal. Restore that group to restore this one.')}</p>
  return (
    <>
      <p class="flash alert">
        {t('This group, formerly {former}, is deleted for good with everything in it on {day}.', { former, day: dayText(group.deletion_due_at) })}
      </p>
      <ActionButton view={view} action={`${homeOfGroup(subject)}/-/restore`} label={t('Restore group')} class="primary" />
      <h2>{t('Delete now')}</h2>
      <p>{t('This cannot be undone.')}</p>
      <Confirmed view={view} action={homeOfGroup(subject)} fullPath={former} label={t('Delete for good')} now />
    </>
  )
}

export const groupPathForm = form({
  at: 'G/-/path',
  method: 'PUT',
  access: manage,
  input: newPath,
  on: groupAdvancedPage,
  async submit({ ctx, caller, subject, input }) {
    await updateGroup(ctx, caller, subject, { path: input.group.path.trim() })
    const moved = await getGroupFor(ctx, caller, String(subject.group.id))
    return new Redirect(`${homeOfGroup(moved)}/-/settings/advanced`, { notice: t('Path updated.') })
  },
})

export const groupTransferForm = form({
  at: 'G/-/transfer',
  method: 'PUT',
  access: manage,
  input: transfer,
  on: groupAdvancedPage,
  async submit({ ctx, caller, subject, input }) {
    const path = input.group.parent.trim()
    const refuse = (reason: string) => invalidRecord({ parent: [reason] })
    const target =
      path === ''
        ? null
        : await getGroupFor(ctx, caller, asPath(path)).catch((error: unknown) => {
            throw error instanceof Failure ? refuse(t('is no group that you may create subgroups in')) : error
          })
    await transferGroup(ctx, caller, subject, target, (reason) => refuse(t('is refused. {reason}', { reason })))
    const moved = await getGroupFor(ctx, caller, String(subject.group.id))
    return new Redirect(`${homeOfGroup(moved)}/-/settings/advanced`, { notice: t('Group transferred.') })
  },
})

export const groupRemoval = form({
  at: 'G',
  method: 'DELETE',
  access: onGroupOrDeletedSignedIn('remove_group'),
  input: confirmation,
  on: groupAdvancedPage,
  async submit({ ctx, subject, input }) {
    checkTyped(input.full_path, subject.group.full_path)
    await deleteGroup(ctx, subject, { permanently_remove: input.permanently_remove })
    return new Redirect(DELETED_PROJECTS, { notice: t('The group {formerPath} is deleted.', { formerPath: formerPath(subject.group.full_path) }) })
  },
})

export const groupRestoration = form({
  at: 'G/-/restore',
  access: onGroupOrDeletedSignedIn('remove_group'),
  on: groupAdvancedPage,
  async submit({ ctx, caller, subject }) {
    await restoreGroup(ctx, subject.group.id)
    const restored = await getGroupFor(ctx, caller, String(subject.group.id))
    return new Redirect(homeOfGroup(restored), { notice: t('Group restored.') })
  },
})
