import type { Form, Page } from '../../page.js'
import { boardPages } from './board/forms.js'
import { completionPage } from './completion.js'
import { editFlagPage, flagForms, flagsPage, newFlagPage } from './feature-flags/flags.js'
import { userListAddress, userListForms, userListPage, userListsPage } from './feature-flags/user-lists.js'
import { editIssuePage, issueChange } from './issue/edit.js'
import {
  issueAttributes,
  issueDuplicate,
  issueLinking,
  issueMove,
  issueNotes,
  issueRemoval,
  issueRequest,
  issueSubscription,
  issueTasks,
  issueTime,
  issueTodo,
  issueUnlinking,
} from './issue/forms.js'
import { issuePage } from './issue/show.js'
import { groupIssuesPage, groupRequestsPage, issuesChange, issuesExport, issuesPage, myIssuesPage, myRequestsPage } from './issues.js'
import { groupLabels, labelPromotion, labelSubscription, projectLabels } from './labels.js'
import { groupMilestones, milestonePromotion, projectMilestones } from './milestones.js'
import { newIssueForm, newIssuePage } from './new-issue.js'
import { artifactPages, artifactsPage } from './pipelines/artifacts.js'
import { configurationEditor, configurationPage } from './pipelines/configuration.js'
import { environmentPage, environmentStop, environmentsPage } from './pipelines/environments.js'
import { jobForms, jobPage, rawLogPage } from './pipelines/job.js'
import { pipelinesOfCommitPage, pipelinesPage } from './pipelines/list.js'
import { newPipelineForm, newPipelinePage } from './pipelines/new.js'
import { editSchedulePage, newSchedulePage, scheduleCreation, scheduleForms, schedulesPage, scheduleVariablePage } from './pipelines/schedules.js'
import { pipelineCancel, pipelinePage, pipelineRetry } from './pipelines/show.js'
import { testsPage } from './pipelines/tests.js'
import {
  editPersonalPage,
  editProjectSnippetPage,
  newPersonal,
  newPersonalPage,
  newProjectSnippet,
  newProjectSnippetPage,
  ownSnippetsPage,
  personalChange,
  personalRemoval,
  personalSnippetPage,
  projectSnippetChange,
  projectSnippetPage,
  projectSnippetRemoval,
  projectSnippetsPage,
  publicSnippetsPage,
  snippetNotes,
  snippetsHome,
} from './snippets.js'
import { todoDone, todoRestoration, todosDone, todosPage, todosRestoration } from './todos.js'
import { newWikiPage, wikiChange, wikiClone, wikiCreation, wikiHome, wikiList, wikiPage, wikiRemoval } from './wikis.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const planning: readonly (Page | Form)[] = [
  ...boardPages,
  completionPage,
  issuePage,
  ...issueNotes,
  editIssuePage,
  issueChange,
  issueAttributes,
  issueTime,
  issueTasks,
  issueSubscription,
  issueTodo,
  issueRequest,
  issueDuplicate,
  issueLinking,
  issueMove,
  issueUnlinking,
  issueRemoval,
  issuesPage,
  issuesChange,
  issuesExport,
  groupIssuesPage,
  groupRequestsPage,
  myIssuesPage,
  myRequestsPage,
  ...projectLabels,
  ...groupLabels,
  labelSubscription,
  labelPromotion,
  milestonePromotion,
  ...projectMilestones,
  ...groupMilestones,
  newIssuePage,
  newIssueForm,
  pipelinesOfCommitPage,
  configurationEditor,
  configurationPage,
  pipelinesPage,
  newPipelinePage,
  newPipelineForm,
  pipelinePage,
  pipelineRetry,
  pipelineCancel,
  jobPage,
  rawLogPage,
  artifactsPage,
  ...artifactPages,
  testsPage,
  ...jobForms,
  environmentsPage,
  environmentPage,
  environmentStop,
  schedulesPage,
  newSchedulePage,
  scheduleCreation,
  editSchedulePage,
  scheduleVariablePage,
  ...scheduleForms,
  flagsPage,
  newFlagPage,
  editFlagPage,
  ...flagForms,
  userListsPage,
  userListPage,
  userListAddress,
  ...userListForms,
  snippetsHome,
  ownSnippetsPage,
  publicSnippetsPage,
  personalSnippetPage,
  newPersonalPage,
  newPersonal,
  editPersonalPage,
  personalChange,
  personalRemoval,
  projectSnippetsPage,
  projectSnippetPage,
  ...snippetNotes,
  newProjectSnippetPage,
  newProjectSnippet,
  editProjectSnippetPage,
  projectSnippetChange,
  projectSnippetRemoval,
  todosPage,
  todoDone,
  todoRestoration,
  todosDone,
  todosRestoration,
  wikiPage,
  wikiHome,
  wikiList,
  wikiClone,
  newWikiPage,
  wikiCreation,
  wikiChange,
  wikiRemoval,
]
