import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { refused } from '../../../failures.js'
import { file, opt, orDefault, str } from '../../../http/params.js'
import { importUsers, MAX_IMPORTED } from '../../../services/operations/user-import.js'
import { numberText } from '../../components/facts.js'
import { Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Table } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, type Html, page } from '../../page.js'
import { adminUserPath } from './user-fields.js'

const LIST = '/admin/users'
const AT = `${LIST}/import`

const imported = z.object({ file: opt(file()), text: orDefault(str(), '') })

export const userImportPage = page({
  at: AT,
  access: adminPage,
  async show({ ctx, view }) {
    const f = fieldsOf(view, imported)
    return {
      title: 'Users from a file',
      body: (
        <AdminLayout view={view} at={LIST} title="Users from a file">
          <p>
            A file with comma-separated values, whose first line names the columns: <code>username</code>, <code>email</code>, and if you like{' '}
            <code>name</code>, <code>admin</code>, <code>external</code>, <code>projects_limit</code> and <code>password</code>. It may have{' '}
            {numberText(MAX_IMPORTED)} lines.
          </p>
          <p>
            {ctx.mail
              ? 'Who has no password in the file gets a mail with a link to set one.'
              : 'For those who have no password in the file one is made up, and shown once.'}{' '}
            Each line is done alone: those that are refused are said, and can be sent again.
          </p>
          <FormTag view={view} action={AT} files once>
            <FormFaults view={view} />
            <Field {...f.file} label="File" accept=".csv,text/csv" />
            <TextField {...f.text} label="Or its text" rows={6} hint={<code>username,name,email</code>} spellcheck={false} />
            <Submit label="Create users" />
          </FormTag>
        </AdminLayout>
      ),
    }
  },
})

export const userImportForm = form({
  at: AT,
  access: adminPage,
  input: imported,
  files: true,
  on: userImportPage,
  async submit({ ctx, input, view }): Promise<Html> {
    const text = input.file && input.file.data.length > 0 ? input.file.data.toString('utf8') : input.text
    if (text.trim() === '') throw refused('Choose a file, or type its text')
    const users = await importUsers(ctx, text)
    const made = users.filter(({ fault }) => fault === null)
    const shows = made.some(({ password }) => password !== null)
    return {
      title: 'Users from a file',
      headers: { 'cache-control': 'no-store' },
      body: (
        <AdminLayout view={view} at={LIST} title="Users from a file">
          <p role="status">
            <strong>
              {numberText(made.length)} of {numberText(users.length)} are created.
            </strong>
            {shows && ' This is the only time that the passwords are shown.'}
          </p>
          <Table columns={['Line', 'Username', 'What became of it']}>
            {users.map(({ line, username, fault, password }) => (
              <tr key={line}>
                <td>{line}</td>
                <td>{fault === null ? <a href={view.links.prefix + adminUserPath(username)}>{username}</a> : username}</td>
                <td>{fault !== null ? <span class="fault">{fault}</span> : password !== null ? <code>{password}</code> : 'created'}</td>
              </tr>
            ))}
          </Table>
          <p>
            <a href={view.links.prefix + LIST}>All users</a>
          </p>
        </AdminLayout>
      ),
    }
  },
})
