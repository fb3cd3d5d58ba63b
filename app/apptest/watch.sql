-- What a database of several replicas checks by itself while a test runs: each rule that a
-- committed transaction breaks is a row of watch.breaks. The replicas connect under names
-- (application_name), so it is known which process writes. Notices tell a Way where a
-- process is, see Way.Arm.
CREATE SCHEMA watch;
CREATE TABLE watch.processes (replica TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE watch.breaks (rule TEXT NOT NULL, what TEXT NOT NULL);

-- The name of the process that has a replica's id; NULL if it is not known.
CREATE FUNCTION watch.process(id TEXT) RETURNS TEXT LANGUAGE sql AS
$$ SELECT name FROM watch.processes WHERE replica = id $$;

-- Records a break by one of the named processes; what the test itself writes is allowed.
CREATE FUNCTION watch.broken(rule TEXT, what TEXT) RETURNS VOID LANGUAGE sql AS
$$ INSERT INTO watch.breaks SELECT rule, what || ', by ' || current_setting('application_name') WHERE current_setting('application_name') LIKE 'replica-%' $$;

CREATE FUNCTION watch.joined() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO watch.processes VALUES (NEW.id, current_setting('application_name'));
	RETURN NULL;
END $$;
CREATE TRIGGER joined AFTER INSERT ON replicas FOR EACH ROW EXECUTE FUNCTION watch.joined();

CREATE FUNCTION watch.renewed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'point:renewed';
	RETURN NULL;
END $$;
CREATE TRIGGER renewed AFTER UPDATE OF expires_at ON replicas FOR EACH ROW EXECUTE FUNCTION watch.renewed();

-- A run passes from one process to another once for each loss, and only its process
-- changes it.
CREATE FUNCTION watch.run() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
	me TEXT := current_setting('application_name');
	before TEXT := format('run %s of %s at attempt %s, %s', OLD.id, watch.process(OLD.replica), OLD.attempt, OLD.state);
BEGIN
	IF OLD.state NOT IN ('queued', 'running', 'waiting') THEN
		IF (NEW.state, NEW.attempt, NEW.last_seq, NEW.replica) IS DISTINCT FROM (OLD.state, OLD.attempt, OLD.last_seq, OLD.replica) THEN
			PERFORM watch.broken('R1', before || ' changes after its end');
		END IF;
		RETURN NULL;
	END IF;
	IF NEW.attempt NOT IN (OLD.attempt, OLD.attempt + 1) THEN
		PERFORM watch.broken('R6', before || ' is now at attempt ' || NEW.attempt);
	END IF;
	IF NEW.replica = OLD.replica THEN
		-- An answer to a wait is stored by any process.
		IF watch.process(OLD.replica) <> me AND (NEW.attempt, NEW.last_seq, NEW.state IN ('running', 'waiting')) IS DISTINCT FROM
			(OLD.attempt, OLD.last_seq, OLD.state IN ('running', 'waiting')) THEN
			PERFORM watch.broken('R6', before || ' is changed by a process that does not have it');
		END IF;
	ELSIF NEW.replica = '' THEN
		RAISE NOTICE 'point:let_go';
		IF watch.process(OLD.replica) <> me THEN
			PERFORM watch.broken('R8', before || ' is let go by a process that does not have it');
		END IF;
	ELSE
		RAISE NOTICE 'point:claimed';
		IF OLD.replica <> '' AND NOT EXISTS (SELECT 1 FROM replicas WHERE id = OLD.replica AND gone_at IS NOT NULL) THEN
			PERFORM watch.broken('R8', before || ' is taken from a process that is not gone');
		END IF;
		IF watch.process(NEW.replica) <> me OR NEW.attempt <> OLD.attempt + (OLD.state <> 'queued')::INT THEN
			PERFORM watch.broken('R8', before || ' is given to ' || watch.process(NEW.replica) || ' at attempt ' || NEW.attempt);
		END IF;
	END IF;
	IF NEW.state NOT IN ('queued', 'running', 'waiting') THEN
		RAISE NOTICE 'point:finish_stored';
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER run AFTER UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION watch.run();

-- At each commit a chat has at most one run under way.
CREATE FUNCTION watch.alone() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT COUNT(*) FROM runs WHERE chat_id = NEW.chat_id AND state IN ('running', 'waiting')) > 1 THEN
		PERFORM watch.broken('R7', format('run %s runs beside another one of its chat', NEW.id));
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER alone AFTER INSERT OR UPDATE OF state ON runs DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW WHEN (NEW.state IN ('running', 'waiting')) EXECUTE FUNCTION watch.alone();

-- A queued run begins only if no earlier one of its chat is queued.
CREATE FUNCTION watch.turn() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM runs WHERE chat_id = NEW.chat_id AND place < NEW.place AND state = 'queued' AND NOT cancel_requested) THEN
		PERFORM watch.broken('R7', format('run %s begins before an earlier one of its chat', NEW.id));
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER turn AFTER UPDATE OF state ON runs FOR EACH ROW WHEN (OLD.state = 'queued' AND NEW.state = 'running') EXECUTE FUNCTION watch.turn();

-- Only the process that has a run writes the run's rows, and only for its attempt.
CREATE FUNCTION watch.row() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
	run RECORD;
BEGIN
	SELECT * INTO run FROM runs WHERE id = NEW.run_id;
	IF FOUND AND watch.process(run.replica) <> current_setting('application_name') THEN
		PERFORM watch.broken('R6', format('%s of run %s is written by a process that does not have the run', TG_TABLE_NAME, NEW.run_id));
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER call AFTER INSERT OR UPDATE ON tool_calls FOR EACH ROW EXECUTE FUNCTION watch.row();
CREATE TRIGGER wait AFTER INSERT ON waits FOR EACH ROW EXECUTE FUNCTION watch.row();
CREATE TRIGGER answer AFTER INSERT ON blocks FOR EACH ROW WHEN (NEW.role = 'assistant' AND NEW.run_id <> '') EXECUTE FUNCTION watch.row();

CREATE FUNCTION watch.attempt() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
	now_at BIGINT := (SELECT attempt FROM runs WHERE id = NEW.run_id);
BEGIN
	IF NEW.attempt > now_at OR TG_TABLE_NAME = 'tool_calls' AND TG_OP = 'INSERT' AND NEW.attempt <> now_at THEN
		PERFORM watch.broken('R6', format('%s of run %s is of attempt %s, the run is at %s', TG_TABLE_NAME, NEW.run_id, NEW.attempt, now_at));
	END IF;
	IF TG_TABLE_NAME = 'tool_calls' THEN
		RAISE NOTICE 'point:%', CASE NEW.state WHEN 'finished' THEN 'tool_stored' ELSE 'tool_noted' END;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER attempt AFTER INSERT OR UPDATE ON tool_calls FOR EACH ROW EXECUTE FUNCTION watch.attempt();
CREATE TRIGGER attempt AFTER INSERT OR UPDATE ON segments FOR EACH ROW EXECUTE FUNCTION watch.attempt();

-- The journal of a process that is gone is moved by another one.
CREATE FUNCTION watch.journal() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		RAISE NOTICE 'point:journal_written';
	ELSIF watch.process(OLD.replica) <> current_setting('application_name') THEN
		RAISE NOTICE 'point:journal_moved';
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER journal AFTER INSERT OR DELETE ON journal FOR EACH ROW EXECUTE FUNCTION watch.journal();
