BEGIN TRANSACTION;
CREATE TABLE artefact_uses (
        sha256 TEXT NOT NULL,
        session_id TEXT NOT NULL,
        PRIMARY KEY (sha256, session_id)
    );
INSERT INTO "artefact_uses" VALUES('6285332e3072b27e5b095c5c7d6e37eadd201220eb14694f9d2d0177c25a64ae','s1');
CREATE TABLE artefacts (
        sha256 TEXT NOT NULL PRIMARY KEY,
        size INTEGER NOT NULL,
        data BLOB NOT NULL
    );
INSERT INTO "artefacts" VALUES('6285332e3072b27e5b095c5c7d6e37eadd201220eb14694f9d2d0177c25a64ae',40000,X'785EEDD03101000000C2A0DA8BEF650B884061C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0800103060C183060C0C0070657C04248');
CREATE TABLE asks (
        session_id TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        digest TEXT NOT NULL,
        title TEXT NOT NULL,
        body BLOB NOT NULL,
        cuts BLOB,
        opened_at REAL NOT NULL,
        state TEXT NOT NULL,
        answer BLOB,
        decided_by TEXT NOT NULL,
        surface TEXT NOT NULL,
        decided_at REAL,
        closed_at REAL, revision INTEGER NOT NULL DEFAULT 0, granted_by TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (session_id, id)
    );
INSERT INTO "asks" VALUES('s1','ask1','tool','d1','Bash',X'7B22746F6F6C223A2242617368227D',NULL,1700000000.0,'decided',X'7B226279223A22616E6E227D','ann','test',1700000000.0,NULL,4,'');
CREATE TABLE audit (
        number INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        actor TEXT NOT NULL,
        surface TEXT NOT NULL,
        action TEXT NOT NULL,
        session_id TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        outcome TEXT NOT NULL,
        detail TEXT NOT NULL
    );
INSERT INTO "audit" VALUES(1,1700000000.0,'ann','web','decide','s1','ask1','ok','');
CREATE TABLE cli_sessions (
        cli_session_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        PRIMARY KEY (cli_session_id, session_id)
    );
INSERT INTO "cli_sessions" VALUES('cli1','s1');
CREATE TABLE deletions (session_id TEXT NOT NULL PRIMARY KEY);
CREATE TABLE events (
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at REAL NOT NULL,
        type TEXT NOT NULL,
        run INTEGER,
        body BLOB NOT NULL,
        cuts BLOB,
        PRIMARY KEY (session_id, seq)
    );
INSERT INTO "events" VALUES('s1',1,1700000001.0,'note',NULL,X'7B22736571223A317D',NULL);
INSERT INTO "events" VALUES('s1',2,1700000002.0,'note',NULL,X'7B22736571223A327D',NULL);
INSERT INTO "events" VALUES('s1',3,1700000003.0,'note',NULL,X'7B2261223A22227D',X'5B5B362C2236323835333332653330373262323765356230393563356337643665333765616464323031323230656231343639346639643264303137376332356136346165225D5D');
INSERT INTO "events" VALUES('c1',1,1700000001.0,'note',NULL,X'7B22736571223A317D',NULL);
INSERT INTO "events" VALUES('c1',2,1700000002.0,'note',NULL,X'7B22736571223A327D',NULL);
CREATE TABLE facts (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO "facts" VALUES('journal',1234567890);
CREATE TABLE frames (
        session_id TEXT NOT NULL,
        first INTEGER NOT NULL,
        count INTEGER NOT NULL,
        at REAL NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (session_id, first)
    );
INSERT INTO "frames" VALUES('s1',1,2,1700000002.0,X'484B9B34655166DE69C79B217F1C1C18188E70572BA51525E6A62A5919D63220A41A50A48C6A1900858F155A');
CREATE TABLE gone (
        session_id TEXT NOT NULL PRIMARY KEY,
        changed INTEGER NOT NULL
    );
CREATE TABLE hosts (
        id TEXT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        key_hash TEXT NOT NULL UNIQUE,
        enrolled_at REAL NOT NULL,
        enrolled_by TEXT NOT NULL,
        last_seen_at REAL,
        revoked_at REAL,
        draining INTEGER NOT NULL,
        facts BLOB NOT NULL
    );
INSERT INTO "hosts" VALUES('h1','build-box','0000000000000000000000000000000000000000000000000000000000000000',1700000000.0,'ann',NULL,NULL,0,X'7B7D');
CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        uuid TEXT NOT NULL,
        content BLOB NOT NULL,
        cuts BLOB,
        at REAL NOT NULL,
        state TEXT NOT NULL,
        sent_by TEXT NOT NULL,
        surface TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0, place INTEGER,
        UNIQUE (session_id, uuid)
    );
INSERT INTO "messages" VALUES(1,'s1','m1',X'22686922',NULL,1700000000.0,'queued','','',5,NULL);
INSERT INTO "messages" VALUES(2,'c1','m2',X'22686922',NULL,1700000000.0,'queued','','',1,1);
CREATE TABLE pruned_copies (
        session_id TEXT NOT NULL PRIMARY KEY,
        host TEXT NOT NULL,
        fence INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        journal INTEGER NOT NULL
    );
CREATE TABLE replies (
        caller TEXT NOT NULL,
        key TEXT NOT NULL,
        request_hash TEXT NOT NULL,
        at REAL NOT NULL,
        status INTEGER,
        body BLOB NOT NULL,
        headers BLOB NOT NULL,
        PRIMARY KEY (caller, key)
    );
INSERT INTO "replies" VALUES('t1','k1','h1',1700000000.0,201,X'7B7D',X'7B7D');
CREATE TABLE runs (
        session_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        started_seq INTEGER NOT NULL,
        started_at REAL NOT NULL,
        completed_seq INTEGER,
        completed_at REAL,
        ok INTEGER,
        cost_usd REAL NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (session_id, number)
    );
INSERT INTO "runs" VALUES('s1',1,1,1700000000.0,NULL,NULL,NULL,0.0,6);
CREATE TABLE sessions (
        id TEXT NOT NULL PRIMARY KEY,
        cwd TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        title TEXT NOT NULL,
        cli_session_id TEXT,
        status TEXT NOT NULL,
        archived INTEGER NOT NULL,
        forked_from TEXT,
        model TEXT NOT NULL,
        cost_usd REAL NOT NULL,
        settings BLOB NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0,
        last_frame INTEGER NOT NULL DEFAULT 0,
        fence INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        lease_until REAL
    , changed INTEGER NOT NULL DEFAULT 0, host TEXT NOT NULL DEFAULT '', source_changed INTEGER, source_journal INTEGER NOT NULL DEFAULT 0, last_revision INTEGER NOT NULL DEFAULT 0);
INSERT INTO "sessions" VALUES('s1','/project',1700000000.0,1700000000.0,'From the past','cli1','idle',0,NULL,'',0.0,X'7B7D',3,2,2,NULL,NULL,1700000000000000,'',NULL,0,7);
INSERT INTO "sessions" VALUES('c1','/project',1700000000.0,1700000000.0,'Elsewhere',NULL,'idle',0,NULL,'',0.0,X'7B7D',2,0,1,'host:h1',NULL,1700000000000002,'h1',1700000000000001,987654321,1);
CREATE TABLE starts (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        at REAL NOT NULL,
        why TEXT NOT NULL,
        pid INTEGER,
        process_started REAL,
        marker TEXT NOT NULL
    );
INSERT INTO "starts" VALUES(1,'s1',1700000000.0,'new',NULL,NULL,'');
CREATE TABLE texts (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        text TEXT NOT NULL
    );
INSERT INTO "texts" VALUES(1,'s1',2,'note','remember me');
CREATE TABLE tokens (
        id TEXT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        kind TEXT NOT NULL,
        secret_hash TEXT NOT NULL UNIQUE,
        created_at REAL NOT NULL,
        last_used_at REAL,
        expires_at REAL,
        revoked_at REAL,
        created_by TEXT NOT NULL
    );
INSERT INTO "tokens" VALUES('t1','phone','owner','browser','0000000000000000000000000000000000000000000000000000000000000000',1700000000.0,NULL,NULL,NULL,'ann');
CREATE TABLE usage (
        session_id TEXT NOT NULL,
        run INTEGER NOT NULL,
        model TEXT NOT NULL,
        at REAL NOT NULL,
        day TEXT NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL,
        cost_usd REAL NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (session_id, run, model)
    );
INSERT INTO "usage" VALUES('s1',1,'opus',1700000000.0,'2023-11-14',10,20,0,0,0.5,7);
CREATE INDEX cli_sessions_of_session ON cli_sessions (session_id);
CREATE INDEX runs_by_completion ON runs (completed_at);
CREATE INDEX asks_by_state ON asks (state, opened_at);
CREATE INDEX starts_of_session ON starts (session_id, at);
CREATE INDEX artefact_uses_of_session ON artefact_uses (session_id);
CREATE INDEX sessions_by_change ON sessions (changed);
CREATE INDEX sessions_by_update ON sessions (updated_at, id);
CREATE INDEX sessions_by_status ON sessions (status, archived);
CREATE INDEX gone_by_change ON gone (changed);
CREATE INDEX usage_by_time ON usage (at);
CREATE INDEX audit_of_session ON audit (session_id, number);
CREATE INDEX replies_by_time ON replies (at);
CREATE INDEX asks_by_revision ON asks (session_id, revision);
CREATE INDEX messages_by_revision ON messages (session_id, revision);
CREATE INDEX runs_by_revision ON runs (session_id, revision);
CREATE INDEX usage_by_revision ON usage (session_id, revision);
CREATE INDEX texts_of_event ON texts (session_id, seq);
CREATE INDEX copies_of_host ON sessions (host) WHERE host <> '';
CREATE INDEX pruned_copies_of_host ON pruned_copies (host);
CREATE INDEX asks_by_grant ON asks (session_id, granted_by) WHERE granted_by <> '';
COMMIT;
