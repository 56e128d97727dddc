import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { orDefault, paging, rowId } from '../../../../http/params.js'
import { createUserList, deleteUserList, getUserList, listUserLists, updateUserList } from '../../../../services/projects/feature-flags/user-lists.js'
import { ActionButton, Field, FormFaults, FormTag, Submit, TextField } from '../../../components/form.js'
import { Pager, Row, Rows } from '../../../components/list.js'
import { fieldsOf } from '../../../fields.js'
import { plural, t } from '../../../language/language.js'
import { ProjectLayout } from '../../../layout/project.js'
import { homeOfProject, projectLinks } from '../../../links.js'
import { form, type PageView, page, Redirect } from '../../../page.js'

const AT = 'P/-/feature_flags_user_lists'
const ONE = `${AT}/:iid`
const PER_PAGE = 50
const reads = onProjectSignedIn('read_feature_flag')
const manages = onProjectSignedIn('manage_feature_flag')

const attributes = { name: orDefault(documented.title(), ''), user_xids: orDefault(documented.filled({ minLength: 0 }), '') }
const given = z.object({ user_list: z.object(attributes) })
const byIid = z.object({ iid: rowId() })
const addressOf = (subject: Pick<ProjectSubject, 'project'>, more = '') => `${homeOfProject(subject)}/-/feature_flags_user_lists${more}`

/** Names as people type them: with spaces and line breaks around commas. */
const tidied = (text: string) =>
  text
    .split(/[,\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .join()

const Fields = ({ view, name, xids }: { view: PageView; name?: string; xids?: string }) => {
  const f = fieldsOf(view, given).user_list
  return (
    <>
      <FormFaults view={view} />
      <Field {...f.name} label={t('Name')} value={name} />
      <TextField
        {...f.user_xids}
        label={t('Users')}
        hint={t('As the program names them, one in a line or with commas between them.')}
        value={xids}
        rows={8}
      />
    </>
  )
}

export const userListsPage = page({
  at: AT,
  access: reads,
  input: z.object({ page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const { items, total } = await listUserLists(ctx, subject, { page: input.page, per_page: PER_PAGE })
    const links = projectLinks(view, fullPathOf(subject.project))
    const may = subject.can('manage_feature_flag')
    return {
      title: `${t('User lists')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="ci"
          heading={t('User lists')}
          tools={
            <a class="button" href={links.page('feature_flags')}>
              {t('Feature flags')}
            </a>
          }
        >
          <p>{t('Users of your program, for whom feature flags can be on.')}</p>
          <Rows empty={t('There are no user lists.')}>
            {items.map(({ id, iid, name, user_xids }) => (
              <Row
                key={id}
                actions={
                  may && (
                    <>
                      <a class="button" href={`${view.links.prefix}${addressOf(subject, `/${iid}/edit`)}`} aria-label={t('Edit {name}', { name })}>
                        {t('Edit')}
                      </a>
                      <ActionButton
                        view={view}
                        action={addressOf(subject, `/${iid}`)}
                        method="DELETE"
                        label={t('Delete')}
                        what={name}
                        class="danger"
                      />
                    </>
                  )
                }
              >
                <strong class="wrap">{name}</strong>
                <span class="dim">{plural(user_xids === '' ? 0 : user_xids.split(',').length, '{count} users', '{count} users')}</span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          {may && (
            <>
              <h2>{t('New user list')}</h2>
              <FormTag view={view} action={addressOf(subject)} once>
                <Fields view={view} />
                <Submit label={t('Create user list')} />
              </FormTag>
            </>
          )}
        </ProjectLayout>
      ),
    }
  },
})

export const userListPage = page({
  at: `${ONE}/edit`,
  access: manages,
  input: byIid,
  async show({ ctx, subject, input, view }) {
    const { name, user_xids } = await getUserList(ctx, subject, input.iid)
    return {
      title: `${name} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>{name}</h1>
          <FormTag view={view} action={addressOf(subject, `/${input.iid}`)} method="PUT">
            <Fields view={view} name={name} xids={user_xids.replaceAll(',', '\n')} />
            <Submit label={t('Save changes')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

/** The address that the API has as `path`. */
export const userListAddress = page({
  at: ONE,
  access: manages,
  input: byIid,
  show: async ({ subject, input }) => new Redirect(addressOf(subject, `/${input.iid}/edit`)),
})

/** What is done with user lists (FF-7). */
export const userListForms = [
  form({
    at: AT,
    access: manages,
    input: given,
    on: userListsPage,
    async submit({ ctx, subject, input: { user_list: list } }) {
      await createUserList(ctx, subject, { name: list.name, user_xids: tidied(list.user_xids) })
      return new Redirect(addressOf(subject), { notice: t('The user list {name} is created.', { name: list.name }) })
    },
  }),
  form({
    at: ONE,
    method: 'PUT',
    access: manages,
    input: given.extend(byIid.shape),
    on: userListPage,
    async submit({ ctx, subject, input: { iid, user_list: list } }) {
      await updateUserList(ctx, subject, iid, { name: list.name, user_xids: tidied(list.user_xids) })
      return new Redirect(addressOf(subject), { notice: t('The changes are saved.') })
    },
  }),
  form({
    at: ONE,
    method: 'DELETE',
    access: manages,
    input: byIid,
    async submit({ ctx, subject, input }) {
      await deleteUserList(ctx, subject, input.iid)
      return new Redirect(addressOf(subject), { notice: t('The user list is deleted.') })
    },
  }),
]
