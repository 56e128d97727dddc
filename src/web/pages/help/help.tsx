import { anyone } from '../../../access/rules.js'
import { Prose } from '../../components/markup.js'
import { renderText } from '../../components/render-text.js'
import { page } from '../../page.js'

/** How the service is used: the text of the administrators, or a short one, and what runs it (WB-186). */
export const helpPage = page({
  at: '/help',
  access: anyone,
  async show({ ctx, caller, view: { links, settings, viewer } }) {
    const html = await renderText(ctx, caller, null, settings.help_page_text)
    return {
      title: 'Help',
      body: (
        <section class="content help">
          <h1>Help</h1>
          {html ? (
            <Prose html={html} />
          ) : (
            <>
              <h2>Begin</h2>
              <ul>
                {!viewer && settings.signup_enabled && (
                  <li>
                    <a href={`${links.prefix}/users/sign_up`}>Make an account</a>
                  </li>
                )}
                <li>
                  <a href={`${links.prefix}/-/profile/keys`}>Add an SSH key</a>, or{' '}
                  <a href={`${links.prefix}/-/profile/personal_access_tokens`}>a token</a> for Git over HTTPS and for programs
                </li>
                <li>
                  <a href={`${links.prefix}/explore`}>Look at projects</a>
                </li>
                <li>Push to a new address below your name, and the project is made.</li>
              </ul>
              <h2>Keys on pages</h2>
              <p>
                <kbd>/</kbd> searches, <kbd>t</kbd> finds a file, <kbd>w</kbd> switches the branch, <kbd>j</kbd> and <kbd>k</kbd> go through lists and
                changes, <kbd>?</kbd> lists the keys of a page.
              </p>
            </>
          )}
          <h2>For programs</h2>
          <p>
            <a href={`${links.prefix}/api/docs`}>The API</a> is described with an example of each call.
          </p>
          {!settings.help_page_hide_commercial_content && (
            <>
              <h2>About Roost</h2>
              <p>
                This service runs Roost: Git repositories, review, CI and packages with the v4 REST API, on a machine of one’s own. It starts with one
                command.
              </p>
            </>
          )}
          {settings.help_page_support_url && (
            <p>
              <a class="button" href={settings.help_page_support_url} rel="noopener">
                Get support
              </a>
            </p>
          )}
        </section>
      ),
    }
  },
})
