/** What the hub sends and takes, as the page uses it. Times are seconds since the epoch. */

export type Role = "viewer" | "approver" | "owner";
export type Level = "low" | "medium" | "high";
export type Status = "needs_you" | "running" | "queued" | "waiting" | "idle" | "failed" | "stopped";
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What can be put into an element; gaps are left out. */
export type Child = Node | string | number | null | undefined | boolean | "" | Child[];

export interface Me {
  name: string;
  role: Role;
}

/** On which machine something runs; nothing for the hub's own. */
export interface Where {
  host?: string;
  host_name?: string;
  host_state?: HostState | "";
}

export interface Session extends Where {
  id: string;
  title: string;
  cwd: string;
  status: Status;
  model: string | null;
  mode?: string | null;
  cost_usd: number | null;
  created_at: number;
  updated_at: number;
  archived: boolean;
  asks: number;
  live: boolean;
  owner: "here" | "elsewhere" | null;
  worktree?: string | null;
  forked_from?: string | null;
  last_words?: string | null;
}

/** A machine that runs sessions. The hub's own has an empty id. */
export interface Host {
  id: string;
  name: string;
  state: HostState;
  since: number | null;
  last_seen_at: number | null;
  sessions: number;
  live: number;
  is_hub: boolean;
  facts: {
    handrail: string;
    system: string;
    clis: { version: string; path?: string; logged_in?: boolean | null }[];
    roots: string[];
    labels: string[];
    capacity: number | null;
    live: number;
    load: number;
    free_bytes: number | null;
    draining: boolean;
    trouble: string;
    profiles: string[];
    /** what its last compatibility probe found, if it ran one */
    probe?: { status?: string; text?: string; version?: string; at?: number; findings?: string[] };
  };
}

export type HostState = "connected" | "away" | "draining" | "revoked";

export interface Counts {
  needs_you: number;
  running: number;
  queued?: number;
  idle: number;
  failed: number;
  stopped: number;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

// ---------------------------------------------------------------- asks

export type AskKind = "permission" | "plan" | "enter_plan" | "question" | "elicitation" | "dialog" | "budget";
export type AskState =
  "pending" | "lost" | "decided" | "sent" | "cancelled" | "expired" | "unsent" | "resumed" | string;

export interface Flag {
  words: string;
  where?: string;
  level: Level;
}

export interface Field {
  name: string;
  html: string;
  text: string;
}

export interface AffectedPath {
  path: string;
  /** where links lead, if elsewhere */
  leads_to?: string;
  access: "read" | "write" | "delete";
  inside_project: boolean;
}

export interface Suggestion {
  words: string;
  permission: Json;
}

export interface PlanChoice {
  id: string;
  label: string;
  needs: "plan" | "feedback" | null;
  answer: Answer;
}

/** What a plan asks leave for, and the rules that could stand for it. */
export interface PromptRule {
  position: number;
  prompt: string;
  tool: string;
  rules: string[];
}

export interface PlanBlock {
  html: string;
  text: string;
}

export interface QuestionOption {
  /** as it was sent: for the answer */
  label: string;
  label_html?: string;
  description?: string;
  description_html?: string;
  preview_html?: string;
  fields?: Field[];
}

export interface Question {
  text: string;
  header?: string;
  html?: string;
  multi_select?: boolean;
  options: QuestionOption[];
  fields?: Field[];
}

export interface FormField {
  name: string;
  title?: string;
  kind?: string;
  description?: string;
  required?: boolean;
  /** JSON text */
  default?: string | null;
  /** `value` is JSON text */
  choices?: { value: string; shown: string }[];
  several?: boolean;
  fields?: Field[];
}

export interface CommandWhat {
  type: "command";
  html: string;
  text: string;
  language?: string;
  lines?: number;
}
export interface ChangeWhat {
  type: "change";
  path: string;
  outcome: string;
  outcome_words?: string;
  added: number;
  removed: number;
  diff_html: string;
  text_html?: string;
  notes?: string[];
}
export interface FetchWhat {
  type: "fetch";
  url: string;
  url_html?: string;
  host?: string;
}
export interface CallWhat {
  type: "call";
  tool: string;
  server?: string;
}
export interface PlanWhat {
  type: "plan";
  html: string;
  text: string;
  path?: string;
  blocks?: PlanBlock[];
}
export interface QuestionsWhat {
  type: "questions";
  questions: Question[];
}
export interface FormWhat {
  type: "form";
  server: string;
  message: string;
  message_html?: string;
  url?: string;
  url_html?: string;
  form_fields?: FormField[];
}
export type What = CommandWhat | ChangeWhat | FetchWhat | CallWhat | PlanWhat | QuestionsWhat | FormWhat;

export interface Closed {
  outcome: string;
  by?: string;
  surface?: string;
  at?: number | null;
  words?: string;
  /** what the answer changed, in words */
  changes?: string[];
  /** what was said with it */
  said?: string;
  /** answered on this very page */
  mine?: boolean;
  /** somebody was faster than an answer of this page */
  late?: boolean;
}

export interface ClosedAsk extends Closed {
  session: string;
  ask: string;
}

export interface Card extends Where {
  session: string;
  session_title?: string;
  ask_id: string;
  digest: string;
  kind: AskKind;
  tool?: string;
  title: string;
  agent?: string | null;
  opened_at: number;
  state: AskState;
  purpose?: string;
  reasons?: string[];
  flags?: Flag[];
  risk?: Level;
  what: What;
  fields?: Field[];
  paths?: AffectedPath[];
  cwd?: string;
  suggestions?: Suggestion[];
  input?: { [key: string]: Json };
  plan_choices?: PlanChoice[];
  allowed_prompts?: string[];
  prompt_rules?: PromptRule[];
  /** pending, lost or unsent */
  answerable?: boolean;
  /** whether answering starts the process again */
  resumes?: boolean;
  /** about a lost ask: what answering does */
  note?: string;
  /** how many hidden characters are written out */
  hidden?: number;
  closed?: Closed | null;
}

/** An answer as JSON: see `handrail.policy.answers.encoding`. */
export interface Answer {
  type: string;
  [field: string]: Json | undefined;
}

// ---------------------------------------------------------------- a session, live

export interface Delta {
  block: string;
  kind: string;
  offset: number;
  text: string;
  after?: number;
  parent?: string | null;
}

export interface Queued {
  uuid: string;
  text: string;
  state: string;
  at: number;
  by?: string;
}

export interface Task {
  id: string;
  title: string;
  kind: string;
  status: string;
  phase?: string;
  ok?: boolean | null;
  background?: boolean;
  parent?: string | null;
  summary?: string;
  started_at?: number;
  ended_at?: number | null;
  progress?: string | null;
}

export interface SessionState extends Where {
  status: Status;
  title: string;
  cwd: string;
  model: string | null;
  mode: string | null;
  cli_version: string | null;
  resume: string | null;
  context: { tokens: number; window: number } | null;
  cost_usd: number | null;
  run: { number: number; started_at: number } | null;
  running: { key: string; title: string }[];
  retry: { [key: string]: Json } | null;
  compacting: boolean | null;
  exited: { [key: string]: Json } | null;
  live: boolean;
  owner: "here" | "elsewhere" | null;
  queued: Queued[];
  tasks: Task[];
  rate_limits: { [key: string]: Json }[];
  mcp: { name: string; status: string }[];
  slash_commands: string[];
  asks: string[];
  forked_from?: string | null;
  worktree?: string | null;
  budget?: { [key: string]: Json } | null;
}

interface RowBase {
  key: string;
  seq: number;
  at: number;
  run: number | null;
  parent: string | null;
}
export interface PromptRow extends RowBase {
  type: "prompt";
  text: string;
  html: string;
  images?: { src: string; alt: string }[];
  uuid?: string | null;
  state?: string;
  by?: string;
  surface?: string;
  reason?: string;
}
export interface TextRow extends RowBase {
  type: "text";
  html: string;
  block: string;
  partial?: boolean;
}
export interface ThinkingRow extends RowBase {
  type: "thinking";
  html: string;
  block: string;
  partial?: boolean;
  redacted?: boolean;
}
export interface ActionRow extends RowBase {
  type: "action";
  kind: string;
  tool: string;
  title: string;
  phase: string;
  ok: boolean | null;
  ended_at?: number | null;
  summary?: string;
  group: "read" | "search" | "edit" | "command" | "web" | "task" | "other";
  children?: number;
}
export interface AskRow extends RowBase {
  type: "ask";
  ask_id: string;
  outcome: string | null;
  card: Card;
}
export interface NoticeRow extends RowBase {
  type: "notice";
  kind: string;
  text: string;
  ok?: boolean | null;
}
export interface EndRow extends RowBase {
  type: "end";
  ok: boolean;
  error?: string | null;
  cost_usd?: number | null;
  duration_ms?: number | null;
  turns?: number | null;
}
export type Row = PromptRow | TextRow | ThinkingRow | ActionRow | AskRow | NoticeRow | EndRow;

// ---------------------------------------------------------------- what comes over the socket

export interface HelloMessage {
  type: "hello";
  version: string;
  server_time: number;
  me: Me;
}
export interface HomeMessage {
  type: "home";
  reset: boolean;
  sessions?: Session[];
  asks?: Card[];
  removed_sessions?: string[];
  closed_asks?: ClosedAsk[];
  counts?: Counts;
  more?: boolean;
}
export interface ViewMessage {
  type: "view";
  session: string;
  seq: number;
  reset: boolean;
  state?: SessionState;
  rows?: Row[];
  before?: string | null;
  total?: number;
}
export interface DeltaMessage {
  type: "delta";
  session: string;
  delta: Delta;
}
export interface EventMessage {
  type: "event";
  session: string;
  event: { seq: number; type: string; [key: string]: Json };
}
export interface CaughtUpMessage {
  type: "caught_up";
  session: string;
  seq: number;
}
export interface GoneMessage {
  type: "gone";
  session: string;
}
export interface ProblemMessage {
  type: "problem";
  session?: string;
  code: string;
  detail: string;
}
export interface PongMessage {
  type: "pong";
  n?: number;
}
export type LiveMessage =
  | HelloMessage
  | HomeMessage
  | ViewMessage
  | DeltaMessage
  | EventMessage
  | CaughtUpMessage
  | GoneMessage
  | ProblemMessage
  | PongMessage;
/** What a follower of a session is handed. */
export type SessionMessage = ViewMessage | DeltaMessage | EventMessage | CaughtUpMessage | GoneMessage | ProblemMessage;
