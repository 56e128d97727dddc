import type { Form, Page } from '../../page.js'
import { activityPage, contributorsPage, graphPage } from './activity.js'
import { blamePage, blobPage } from './blob.js'
import { deletePage, fileRemoval, renameForm, renamePage, replaceForm, replacePage, uploadForm, uploadPage } from './change-file.js'
import { cherryPickForm, commitNotes, commitPage, containingPage, lineCommentForm, requestsOfCommitPage, revertForm } from './commit.js'
import { commitsPage, defaultCommitsPage } from './commits.js'
import { compareFormPage, comparePage } from './compare.js'
import { editForm, editPage, newFileForm, newFilePage } from './edit.js'
import { findFilePage } from './find-file.js'
import { olderAddresses } from './older-addresses.js'
import { branchesPage, branchForm, branchRemoval, mergedRemoval, newTagForm, newTagPage, switchPage, tagPage, tagRemoval, tagsPage } from './refs.js'
import {
  assetForm,
  assetRemoval,
  editReleaseForm,
  editReleasePage,
  newReleaseForm,
  newReleasePage,
  releasePage,
  releaseRemoval,
  releasesPage,
} from './releases.js'
import { forksPage, newForkForm, newForkPage, starForm, starrersPage } from './social.js'
import { pathPage, projectPage, treePage } from './tree.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const code: readonly (Page | Form)[] = [
  activityPage,
  contributorsPage,
  graphPage,
  blobPage,
  blamePage,
  commitPage,
  ...commitNotes,
  lineCommentForm,
  cherryPickForm,
  revertForm,
  containingPage,
  requestsOfCommitPage,
  commitsPage,
  defaultCommitsPage,
  compareFormPage,
  comparePage,
  editPage,
  editForm,
  deletePage,
  fileRemoval,
  renamePage,
  renameForm,
  replacePage,
  replaceForm,
  uploadPage,
  uploadForm,
  newFilePage,
  newFileForm,
  findFilePage,
  ...olderAddresses,
  branchesPage,
  branchForm,
  branchRemoval,
  mergedRemoval,
  tagsPage,
  tagPage,
  newTagPage,
  newTagForm,
  tagRemoval,
  switchPage,
  releasesPage,
  releasePage,
  newReleasePage,
  newReleaseForm,
  editReleasePage,
  editReleaseForm,
  releaseRemoval,
  assetForm,
  assetRemoval,
  starForm,
  starrersPage,
  forksPage,
  newForkPage,
  newForkForm,
  treePage,
  projectPage,
  pathPage,
]
