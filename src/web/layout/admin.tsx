import type { ComponentChildren } from 'preact'
import { t } from '../language/language.js'
import type { PageView } from '../page.js'
import { SidedLayout, type SideSection } from './settings.js'

const sectionsTexts = () =>
  [
    [
      t('Service'),
      [
        ['/admin', t('Overview'), 'house'],
        ['/admin/application_settings', t('Settings'), 'settings'],
        ['/admin/features', t('Features'), 'star'],
        ['/admin/request_limits', t('Limits of requests'), 'clock'],
        ['/admin/maintenance', t('Read-only mode'), 'lock'],
        ['/admin/broadcast_messages', t('Messages'), 'message-square'],
      ],
    ],
    [
      t('What it has'),
      [
        ['/admin/users', t('Users'), 'user'],
        ['/admin/groups', t('Groups'), 'users'],
        ['/admin/projects', t('Projects'), 'folder'],
        ['/admin/deploy_keys', t('Deploy keys'), 'key'],
        ['/admin/runners', t('Runners'), 'rocket'],
        ['/admin/variables', t('CI variables'), 'lock'],
        ['/admin/abuse_reports', t('Abuse reports'), 'triangle-alert'],
        ['/admin/held_texts', t('Held texts'), 'shield'],
      ],
    ],
    [
      t('What happens'),
      [
        ['/admin/audit_log', t('Audit log'), 'history'],
        ['/admin/jobs', t('Jobs'), 'activity'],
      ],
    ],
    [
      t('Other programs'),
      [
        ['/admin/hooks', t('System hooks'), 'link'],
        ['/admin/applications', t('Applications'), 'globe'],
        ['/admin/sign_in_providers', t('Sign-in providers'), 'key'],
      ],
    ],
  ] as const satisfies readonly SideSection[]

interface Props {
  view: PageView
  /** The address of the page, or of the one above it. */
  at: ReturnType<typeof sectionsTexts>[number][1][number][0]
  title: string
  children: ComponentChildren
}

/** A page of the administration, with the others beside it. */
export const AdminLayout = (props: Props) => <SidedLayout label={t('Administration')} sections={sectionsTexts()} {...props} />
