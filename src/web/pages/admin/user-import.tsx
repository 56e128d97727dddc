import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { refused } from '../../../failures.js'
import { file, opt, orDefault, str } from '../../../http/params.js'
import { importUsers, MAX_IMPORTED } from '../../../services/operations/user-import.js'
import { numberText } from '../../components/facts.js'
import { Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Table } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
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
      title: t('Users from a file'),
      body: (
        <AdminLayout view={view} at={LIST} title={t('Users from a file')}>
          <p>
            <Phrase
              text="A file with comma-separated values, whose first line names the columns: {code}, {code2}, and if you like {code3}, {code4}, {code5}, {code6} and {code7}. It may have {number} lines."
              code={<code>username</code>}
              code2={<code>email</code>}
              code3={<code>name</code>}
              code4={<code>admin</code>}
              code5={<code>external</code>}
              code6={<code>projects_limit</code>}
              code7={<code>password</code>}
              number={numberText(MAX_IMPORTED)}
            />
          </p>
          <p>
            <Phrase
              text="{passwords} Each line is done alone: those that are refused are said, and can be sent again."
              passwords={
                ctx.mail
                  ? t('Who has no password in the file gets a mail with a link to set one.')
                  : t('For those who have no password in the file one is made up, and shown once.')
              }
            />
          </p>
          <FormTag view={view} action={AT} files once>
            <FormFaults view={view} />
            <Field {...f.file} label={t('File')} accept=".csv,text/csv" />
            <TextField {...f.text} label={t('Or its text')} rows={6} hint={<code>username,name,email</code>} spellcheck={false} />
            <Submit label={t('Create users')} />
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
    if (text.trim() === '') throw refused(t('Choose a file, or type its text'))
    const users = await importUsers(ctx, text)
    const made = users.filter(({ fault }) => fault === null)
    const shows = made.some(({ password }) => password !== null)
    return {
      title: t('Users from a file'),
      headers: { 'cache-control': 'no-store' },
      body: (
        <AdminLayout view={view} at={LIST} title={t('Users from a file')}>
          <p role="status">
            <strong>
              <Phrase text="{number} of {number2} are created." number={numberText(made.length)} number2={numberText(users.length)} />
            </strong>
            {shows && ` ${t('This is the only time that the passwords are shown.')}`}
          </p>
          <Table columns={[t('Line'), t('Username'), t('What became of it')]}>
            {users.map(({ line, username, fault, password }) => (
              <tr key={line}>
                <td>{line}</td>
                <td>{fault === null ? <a href={view.links.prefix + adminUserPath(username)}>{username}</a> : username}</td>
                <td>{fault !== null ? <span class="fault">{fault}</span> : password !== null ? <code>{password}</code> : t('created')}</td>
              </tr>
            ))}
          </Table>
          <p>
            <a href={view.links.prefix + LIST}>{t('All users')}</a>
          </p>
        </AdminLayout>
      ),
    }
  },
})
