import type { ComponentChildren } from 'preact'
import type { PageView } from '../page.js'
import { SidedLayout, type SideSection } from './settings.js'

const SECTIONS = [
  [
    'Service',
    [
      ['/admin', 'Overview', 'house'],
      ['/admin/application_settings', 'Settings', 'settings'],
      ['/admin/features', 'Features', 'star'],
      ['/admin/request_limits', 'Limits of requests', 'clock'],
      ['/admin/maintenance', 'Read-only mode', 'lock'],
      ['/admin/broadcast_messages', 'Messages', 'message-square'],
    ],
  ],
  [
    'What it has',
    [
      ['/admin/users', 'Users', 'user'],
      ['/admin/groups', 'Groups', 'users'],
      ['/admin/projects', 'Projects', 'folder'],
      ['/admin/deploy_keys', 'Deploy keys', 'key'],
      ['/admin/runners', 'Runners', 'rocket'],
      ['/admin/variables', 'CI variables', 'lock'],
      ['/admin/abuse_reports', 'Abuse reports', 'triangle-alert'],
      ['/admin/held_texts', 'Held texts', 'shield'],
    ],
  ],
  [
    'What happens',
    [
      ['/admin/audit_log', 'Audit log', 'history'],
      ['/admin/jobs', 'Jobs', 'activity'],
    ],
  ],
  [
    'Other programs',
    [
      ['/admin/hooks', 'System hooks', 'link'],
      ['/admin/applications', 'Applications', 'globe'],
      ['/admin/sign_in_providers', 'Sign-in providers', 'key'],
    ],
  ],
] as const satisfies readonly SideSection[]

interface Props {
  view: PageView
  /** The address of the page, or of the one above it. */
  at: (typeof SECTIONS)[number][1][number][0]
  title: string
  children: ComponentChildren
}

/** A page of the administration, with the others beside it. */
export const AdminLayout = (props: Props) => <SidedLayout label="Administration" sections={SECTIONS} {...props} />
