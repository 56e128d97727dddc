import { anyone } from '../../../access/rules.js'
import { Prose } from '../../components/markup.js'
import { renderText } from '../../components/render-text.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { page } from '../../page.js'

/** How the service is used: the text of the administrators, or a short one, and what runs it (WB-186). */
export const helpPage = page({
  at: '/help',
  access: anyone,
  async show({ ctx, caller, view: { links, settings, viewer } }) {
    const html = await renderText(ctx, caller, null, settings.help_page_text)
    return {
      title: t('Help'),
      body: (
        <section class="content help">
          <h1>{t('Help')}</h1>
          {html ? (
            <Prose html={html} />
          ) : (
            <>
              <h2>{t('Begin')}</h2>
              <ul>
                {!viewer && settings.signup_enabled && (
                  <li>
                    <a href={`${links.prefix}/users/sign_up`}>{t('Make an account')}</a>
                  </li>
                )}
                <li>
                  <Phrase
                    text="{link}, or {link2} for Git over HTTPS and for programs"
                    link={<a href={`${links.prefix}/-/profile/keys`}>{t('Add an SSH key')}</a>}
                    link2={<a href={`${links.prefix}/-/profile/personal_access_tokens`}>{t('a token')}</a>}
                  />
                </li>
                <li>
                  <a href={`${links.prefix}/explore`}>{t('Look at projects')}</a>
                </li>
                <li>{t('Push to a new address below your name, and the project is made.')}</li>
              </ul>
              <h2>{t('Keys on pages')}</h2>
              <p>
                <Phrase
                  text="{kbd} searches, {kbd2} finds a file, {kbd3} switches the branch, {kbd4} and {kbd5} go through lists and changes, {kbd6} lists the keys of a page."
                  kbd={<kbd>/</kbd>}
                  kbd2={<kbd>t</kbd>}
                  kbd3={<kbd>w</kbd>}
                  kbd4={<kbd>j</kbd>}
                  kbd5={<kbd>k</kbd>}
                  kbd6={<kbd>?</kbd>}
                />
              </p>
            </>
          )}
          <h2>{t('For programs')}</h2>
          <p>
            <Phrase text="{link} is described with an example of each call." link={<a href={`${links.prefix}/api/docs`}>{t('The API')}</a>} />
          </p>
          {!settings.help_page_hide_commercial_content && (
            <>
              <h2>{t('About Roost')}</h2>
              <p>
                {t(
                  'This service runs Roost: Git repositories, review, CI and packages with the v4 REST API, on a machine of one’s own. It starts with one command.',
                )}
              </p>
            </>
          )}
          {settings.help_page_support_url && (
            <p>
              <a class="button" href={settings.help_page_support_url} rel="noopener">
                {t('Get support')}
              </a>
            </p>
          )}
        </section>
      ),
    }
  },
})
