// Generated from openapi.yaml by "npm run generate"; do not edit.

export interface paths {
    "/api/chat/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a run and follow it
         * @description Answers with the run's events as `text/event-stream`. Each frame is `id: <sequence number>`, one line
         *     `data: <JSON>` and a blank line; comments are sent while there are no events. In the dialect `chat` the JSON is a
         *     ChatEvent: the first is a `status` that carries the ids, exactly one of `complete`, `error` and `cancelled` is the
         *     last. In the dialect `messages` it is a MessageFrame: the first is `stream_start`, the last `stream_end`. The user's
         *     message is stored before the first event is sent. A disconnect does not cancel the run, unless `on_disconnect` says
         *     so. The same request with the same `Idempotency-Key` continues the run after `Last-Event-ID`; a new run is read from
         *     its start. A request with a cursor and without a key is refused with 428: it would start the question again each
         *     time a client reconnects.
         */
        post: operations["postStream"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a run and wait for its end
         * @description Takes the same request as `POST /api/chat/stream` and responds with the payload of `complete` when the run ends. The
         *     response to a run that failed is 502 (the model's service), 500 or 503 with the `code` of its `error` event and its
         *     `run_id`; to one that was cancelled, 409 `cancelled`. With `Last-Event-ID` it needs an `Idempotency-Key`, else it is
         *     refused with 428. The request counts as a stream. It ends with 401 when the token expires; the run continues.
         */
        post: operations["postChat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The run that was started under an Idempotency-Key */
        get: operations["findRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        /** The state of a run */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        /**
         * Follow or replay a run
         * @description Returns exactly the events after the cursor, then follows the run live. Of a run that ended longer ago than its
         *     log is kept (setting `retention.logs`) it returns one more attempt, with the answer as one text, and the same last
         *     event. The cursor is the header `Last-Event-ID`, else `after`; a cursor that is not a number, or is more than 1000
         *     past the newest event of a live run, reads from the start. At or after the terminal event the response is 204, so
         *     that an `EventSource` stops. The stream ends when its token expires, at the latest; reconnect with a fresh token.
         */
        get: operations["getStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description Cancels the model call and the running tools within a second and keeps the partial answer. Cancelling again, or
         *     cancelling a run that has ended, changes nothing. The response is the run's state, which may still be `running`.
         */
        post: operations["cancelRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}/approvals/{approval_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
                /**
                 * @description The `approval_id` of an `approval_request`
                 * @example 5f0c6d8e2b4a91c37e05d6f8
                 */
                approval_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve or deny a call that waits
         * @description The answer may come from any device of the user. The first answer counts and is durable; the same one may be sent
         *     again, a different one is 409. A first answer is also 409 after the run has ended or the approval has expired (setting
         *     `timeouts.approval`); an expired approval counts as a denial. `input` replaces the call's input and must match the
         *     tool's schema.
         */
        post: operations["postApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}/tool_results": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give the outcome of a tool of the page
         * @description Answers a `client_tool_call`. The first outcome counts and is durable; the same one may be sent again, a different
         *     one is 409, as is a first one after the run has ended or the call has expired (setting `timeouts.approval`). `output` has
         *     at most 256 KiB.
         */
        post: operations["postToolResult"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}/waits": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        /** The calls that wait for the user or for the page, and those that have waited */
        get: operations["getWaits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}/diagnostics": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        /**
         * The trace of a run
         * @description For those who may see system prompts (setting `diagnostics`); others get 403.
         */
        get: operations["getDiagnostics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/runs/{run_id}/tools/{index}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
                /**
                 * @description The N of `[[tool:N]]`
                 * @example 0
                 */
                index: number;
            };
            cookie?: never;
        };
        /**
         * A tool call with its whole output
         * @description The outputs of a run are stored whole up to 16 MiB together. Of later ones what the model got is stored.
         */
        get: operations["getToolCall"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The user's chats, pinned ones first, then the newest */
        get: operations["listChats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/{conversation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
            };
            cookie?: never;
        };
        /**
         * A chat with its messages
         * @description The newest messages; `next_cursor` leads to those before them. Questions are in the order in which they were accepted, each followed
         *     by its answer, also while they wait for their turn. So an answer comes before questions that were accepted while it was written: a
         *     client that has read these finds it when it reads the page with its question again. A page may have fewer messages than `limit`: only
         *     a missing `next_cursor` says that there are no more.
         */
        get: operations["getChat"];
        put?: never;
        post?: never;
        /** Delete a chat with all that belongs to it */
        delete: operations["deleteChat"];
        options?: never;
        head?: never;
        /**
         * Rename, pin or archive a chat
         * @description Absent fields are not changed. An archived chat works as before; it is only listed separately.
         */
        patch: operations["patchChat"];
        trace?: never;
    };
    "/api/chats/{conversation_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
            };
            cookie?: never;
        };
        /**
         * A chat as a file
         * @description The current messages, oldest first: as Markdown, or as JSON as in `GET /api/chats/{conversation_id}`. Of a chat
         *     with more than 20,000 messages it has the first ones, and says so at the end (`truncated`). The response is sent while it is read from the database; if the connection breaks,
         *     the export is incomplete. It counts as one of the user's open streams. A user's exports of chats are made one after
         *     the other: one that waits for 15 seconds is `busy`. A client that reads less than 16 KiB a second is cut off after a
         *     minute.
         */
        get: operations["exportChat"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/{conversation_id}/payloads/{payload_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /** @example abc12345 */
                payload_id: components["parameters"]["PayloadID"];
            };
            cookie?: never;
        };
        /** A whole payload */
        get: operations["getPayload"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/{conversation_id}/payloads/{payload_id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /** @example abc12345 */
                payload_id: components["parameters"]["PayloadID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store the decision about a proposal
         * @description A payload is decided once: the same decision again changes nothing, a different one is 409
         */
        post: operations["resolvePayload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/{conversation_id}/messages/{message_id}/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /**
                 * @description An assistant message of this chat
                 * @example 019ac0de-0000-7000-8000-00000000000b
                 */
                message_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rate an answer
         * @description A second rating replaces the first.
         */
        post: operations["postFeedback"];
        /** Remove the rating of an answer */
        delete: operations["deleteFeedback"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/{conversation_id}/messages/{message_id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /**
                 * @description A message of this chat
                 * @example 019ac0de-0000-7000-8000-00000000000b
                 */
                message_id: string;
            };
            cookie?: never;
        };
        /**
         * The versions of a question or an answer
         * @description A question that is edited and an answer that is asked for again are kept, with all that followed them: they become
         *     earlier versions of what replaced them. One version is current; `POST …/select` makes another one current. None is
         *     current if an earlier message was replaced: go back to that one first. At most the newest 200 are listed, the
         *     oldest first. A message that was neither edited nor answered again has itself as its only version.
         */
        get: operations["getVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chats/{conversation_id}/messages/{message_id}/select": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /**
                 * @description A message of this chat
                 * @example 019ac0de-0000-7000-8000-00000000000b
                 */
                message_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Go back to a version of a message
         * @description Makes the version current, with the messages that followed it when it
         *     was last current; the current messages from its place on are replaced,
         *     and kept as the other version. The next question continues from there,
         *     and prompts have only current messages. Changes of documents and data by
         *     tools and decisions remain. The request is refused with `busy` while a run of the chat is under way, and with
         *     `conflict` if it is no version of a current message. Selecting a version that is already current changes nothing.
         */
        post: operations["selectVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The user's documents, the newest first */
        get: operations["listDocuments"];
        put?: never;
        /**
         * Make a document
         * @description The id may be chosen by the client; it is unique for its user.
         */
        post: operations["postDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        /** A document with its blocks in order */
        get: operations["getDocument"];
        put?: never;
        post?: never;
        /** Delete a document with its blocks */
        delete: operations["deleteDocument"];
        options?: never;
        head?: never;
        /**
         * Rename a document
         * @description A pending title is dropped. A rename that is stored already may be
         *     repeated with the `ETag` from before it.
         */
        patch: operations["patchDocument"];
        trace?: never;
    };
    "/api/documents/{document_id}/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a block
         * @description The user's own block: its content is `current` at once. `after_block_id`
         *     is the block that it comes after, an empty one means the front; without
         *     it the block goes to the end. A block that the document already has, with
         *     the same `id` and content, is answered as it is: an addition may be
         *     repeated, also with the `ETag` from before it.
         */
        post: operations["postBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept all that is pending
         * @description All in one transaction: new content becomes current, moved blocks move, deleted ones are removed, and a new title
         *     takes effect. A block that is only planned, and has no content yet, stays pending. If nothing else is pending, the
         *     document does not change. The last decision may be repeated with the `ETag` from before it.
         */
        post: operations["acceptDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}/revert": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revert all that is pending
         * @description All in one transaction: the document is as it was, new blocks and a new title are gone. The plan of an answer is one
         *     change, also if the answer has planned again: the blocks that it replaced come back, with their pending changes
         *     still pending, as `pending` says; reverting again drops that. If nothing is pending, the document does not change.
         *     The last decision may be repeated with the `ETag` from before it.
         */
        post: operations["revertDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revert all that is pending
         * @description The same as `/revert`.
         */
        post: operations["rejectDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        /**
         * The earlier versions of a document, the newest first
         * @description A version has the accepted content of the document as it was before pending changes were accepted, before
         *     another version was restored, or before the user changed blocks or the title. The user's changes within ten
         *     minutes share one version, as do the acceptances of single blocks; but what is deleted, or replaced by accepting
         *     a change, is always in a version. Pending changes are in no version. The newest 50 versions of a document are stored.
         *     They do not count towards the `quota`, but together have a limit of the same size; beyond it the oldest are
         *     deleted. A document that is empty becomes no version. One that is larger than 16 MiB becomes one only before
         *     another version is restored.
         */
        get: operations["listDocumentVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}/versions/{revision}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
                /**
                 * @description The revision of the document that names the version
                 * @example 6
                 */
                revision: number;
            };
            cookie?: never;
        };
        /**
         * A document as it was at a version
         * @description All blocks are clean; `revision` and `updated_at` are those of the version.
         */
        get: operations["getDocumentVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}/versions/{revision}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
                /**
                 * @description The revision of the document that names the version
                 * @example 6
                 */
                revision: number;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Go back to a version
         * @description The version's content becomes current, as a new revision; the content before that becomes a version too. While
         *     changes are pending, which would be lost, the response is 409 with the code `conflict`. While nothing has changed
         *     since, the request may be repeated with the `ETag` from before it.
         */
        post: operations["restoreDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{document_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        /**
         * A document as Markdown
         * @description Its current content, with tables as tables, charts as their data and images as links.
         */
        get: operations["exportDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/blocks/{block_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        /**
         * A block
         * @description A block of a document, or a message of a chat; a message can also be read under the other ids that the client gave
         *     it. While an answer is written again, its id finds the earlier one, and a superseded answer keeps its id.
         */
        get: operations["getBlock"];
        put?: never;
        post?: never;
        /** Delete a block of a document */
        delete: operations["deleteBlock"];
        options?: never;
        head?: never;
        /**
         * Edit or move a block
         * @description The user's own edit of a document's block: it changes `current`, and
         *     pending changes remain. Absent parts are not changed. A move takes
         *     effect at once. An edit that is stored already may be repeated with
         *     the `ETag` from before it.
         */
        patch: operations["patchBlock"];
        trace?: never;
    };
    "/api/blocks/{block_id}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept the pending changes of a block
         * @description `new` becomes `current`, a move takes effect, a block that is marked as
         *     deleted is removed. A block without pending changes is not changed, nor is
         *     one that is only planned and has no content yet. The last decision may be
         *     repeated with the `ETag` from before it.
         */
        post: operations["acceptBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/blocks/{block_id}/revert": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revert the pending changes of a block
         * @description `new` is dropped; a block that has nothing else is removed. If nothing is pending, the block does not change. The last
         *     decision may be repeated with the `ETag` from before it.
         */
        post: operations["revertBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/blocks/{block_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revert the pending changes of a block
         * @description The same as `/revert`.
         */
        post: operations["rejectBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/blocks/{block_id}/apply": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply a message to a document
         * @description The text of a chat's message, without tool markers, becomes the `new` of the target. Without a target it becomes a
         *     new block that waits to be accepted, after `after_block_id` or else at the end. `If-Match` has the revision of the
         *     target, or else of the document. Applying the same message to the same document again gives the same block; a
         *     request that is done already may be repeated with the `ETag` from before it.
         */
        post: operations["applyBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All pages and what they offer */
        get: operations["listPages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pages/{page}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of a page, or an alias
                 * @example edit_research_stream
                 */
                page: string;
            };
            cookie?: never;
        };
        /** What a page offers */
        get: operations["getPage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The tools of a page, tab and subtab
         * @description The global tools and those of the page, tab and subtab. A place that no
         *     page file describes has only the global tools. Arguments that a page
         *     file sets are not in `input_schema`.
         */
        get: operations["listTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The models that a request may name
         * @description The default one is first. Prices are what the operator has set, in US dollars for a million tokens.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The authenticated user */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me/data": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How much is stored of the user */
        get: operations["getMyData"];
        put?: never;
        post?: never;
        /**
         * Delete everything of the user
         * @description Cancels the user's running answers, then deletes all chats, with their messages, payloads, attachments and runs,
         *     and all documents. The usage of the current day is deleted within an hour after its end (UTC), because budgets
         *     count it until then. The request needs the `confirm` of `GET /api/me/data`. Without it nothing is deleted, and the
         *     error says how much would be, and which `confirm` to send. For 10 minutes it stays valid while answers begin and
         *     end: each may have added a chat, a question, an answer and a document. It also stays valid if less is stored than it
         *     says: the same request continues a deletion that has failed, and may be sent twice. A deletion goes on when the
         *     client goes away. An export that is being read breaks off when the deletion begins.
         */
        delete: operations["deleteMyData"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything of the user as a file
         * @description Lines of JSON, each `{"kind": …, "data": …}`. Kinds: `user`; `usage`, a day and a model; `chat`, with the summary
         *     that a model has written of its older turns, followed by its messages, replaced ones included, as `message`, each
         *     followed by its files as `attachment`, then its runs as `run`, with the request and the user's name and roles at
         *     that time, each followed by its calls as `tool_call`, with their whole outputs, and by the calls that wait or have
         *     waited for the user or the page as `wait`, with the answer; `document`, followed by its versions as
         *     `document_version`. A message that is stored during the export may follow its run. The last line is `end`, with the
         *     number of lines before it: without it the export is incomplete, such as when the data is deleted meanwhile. Event
         *     logs and traces are not in it. A user has one export at a time: another one waits for 15 seconds, as it does during
         *     a deletion, and is then refused with `busy`. It counts as one of the user's open streams. A client that reads less
         *     than 16 KiB a second is cut off after a minute.
         */
        get: operations["exportMyData"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a user has used
         * @description Tokens and cost by day (UTC) and model, of all model calls: answers, summaries of older turns, tools that ask a model, fallback models, and calls that failed or were cancelled. A run counts on the day on which it ended. Where a model's server reported no tokens they are estimated, at four characters per token.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/streams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All streams */
        get: operations["listStreams"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/streams/{stream_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                stream_id: number;
            };
            cookie?: never;
        };
        /** A stream */
        get: operations["getResearchStream"];
        /**
         * Change a stream
         * @description For the stream's owner and admins; others get 403. A part that is absent is not changed.
         */
        put: operations["putResearchStream"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reports, newest first */
        get: operations["listReports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/reports/{report_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                report_id: number;
            };
            cookie?: never;
        };
        /** A report with its articles */
        get: operations["getReport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ws": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The websocket
         * @description One JSON object per frame: `SocketEvent` from the client, `Chunk` to it. A message starts a run as `POST
         *     /api/chat/stream` does, and a run may be watched, resumed and cancelled from both. `stop` ends the runs of a
         *     chat and stops watching it, `pause` ends only the live run; a message that comes while an answer streams is
         *     queued. `mode` `agent` offers the tools of documents; `chat` with a `document_id` writes the answer into that
         *     document. Several sockets may watch one chat; `resume` follows the live run, or gives the chunks of the run
         *     `run_id` after `after` and what follows it; if `after` is more than 1000 past the newest event of a live run, it
         *     gives them from the start. With a `document_id`, `stop`, `pause` and `resume` mean the runs that write that
         *     document, from any chat, unless the chat that `chat_id` names has one. The end of a block is a chunk with empty
         *     content and `end`, the end of a run a chunk `run_end`. Calls, payloads, suggestions and warnings are chunks,
         *     too; `approve` and `tool_result` answer calls that wait, and every socket that watches the chat sees that. A
         *     frame that cannot be read is answered with an `error` chunk; one over the body limit closes the socket with
         *     1009, too many frames with 1008, an interrupted run with 1012. The socket ends when its token expires, or after
         *     15 idle minutes. Its origin must be that of the service or one of `cors_origins`.
         */
        get: operations["getSocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ws/ticket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A ticket for a websocket or a stream
         * @description For clients that cannot send a header: `?ticket=` replaces the token. A ticket is valid for 30 seconds. In that
         *     time it opens one websocket, once, or the stream of one run. It can open that stream again for an hour, so that an
         *     `EventSource` resumes with the same URL. It never outlives the token, nor the process that issued it.
         */
        post: operations["postTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Call tools over the Model Context Protocol
         * @description Streamable HTTP without sessions: one JSON-RPC message per request, the answer as a stream of events that
         *     ends with it, or as JSON to callers that accept only JSON; a notification is answered with 202. It offers the tools that every page has and that need neither a
         *     chat nor an approval, as far as the user may call them. Progress is sent to callers that ask for it. A request
         *     counts towards the limits of streams and of requests that start runs. A call during which the token expires
         *     has its result; the next request is refused. Errors about a message are JSON-RPC errors: -32700 and -32600 with 400,
         *     -32601 with the id of the request, and -32603 with it for a call that took longer than 15 minutes.
         */
        post: operations["mcp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where clients of the API log in
         * @description OAuth 2.0 Protected Resource Metadata (RFC 9728), available when `auth.oidc_issuer` is set. The URL `resource`
         *     begins with the setting `public_url`, else with the host of the request. A 401 response names the document in
         *     `WWW-Authenticate`.
         */
        get: operations["getResource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where clients of `/mcp` log in
         * @description OAuth 2.0 Protected Resource Metadata (RFC 9728), available when `auth.oidc_issuer` is set. The URL `resource`
         *     begins with the setting `public_url`, else with the host of the request. A 401 response names the document in
         *     `WWW-Authenticate`.
         */
        get: operations["getMCPResource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process is alive */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The service takes requests
         * @description 503 while the database cannot be reached, and once the service is about to stop. The body of 200 is `ok`, and after a colon what the service does without at the moment.
         */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures for Prometheus */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.yaml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The web page
         * @description It loads its files from `/assets/` of the same origin.
         */
        get: operations["page"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/playground": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recorded streams, replayed through the tray
         * @description The web page, opened at its playground.
         */
        get: operations["playground"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The page of the operator
         * @description The web page, opened at the view of runs, usage and processes. It asks for `/api/admin`.
         */
        get: operations["adminPage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Runs of all users
         * @description The newest first, for users with the role `admin`. Each request looks through a bounded number of runs: a page may have fewer items than `limit`, even none, while `next_cursor` says that there may be more. Runs that ended before the service stored them have no `page` and no `model`.
         */
        get: operations["adminRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/runs/{run_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        /**
         * What a run did over time
         * @description The wait in the queue, the attempts with the processes that had them, each call of the model with its first token, the tools, approvals and tools of the page, and what was on disk when. Texts are not in it. The log of a run that has not ended gives what is stored so far.
         */
        get: operations["adminTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/runs/{run_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        /**
         * The events of a run
         * @description For admins who may see what users and models have written (setting `diagnostics`). `event` is the frame of the dialect `chat`; events without such a frame have only their number and time.
         */
        get: operations["adminEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/runs/{run_id}/diagnostics": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        /**
         * The trace of a run of any user
         * @description For admins who may see what users and models have written (setting `diagnostics`). A run has its trace once it has ended, until its log is deleted.
         */
        get: operations["adminDiagnostics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Usage, cost, errors and fallbacks of all users
         * @description Totals of the runs that ended on these days (UTC), for users with the role `admin`. A run counts for the model that answered; tokens count for the model that was called. What the service has used before it counted pages is under the page with the empty name.
         */
        get: operations["adminStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/replicas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The processes that serve the database
         * @description With their leases, for users with the role `admin`. Those that are gone are listed for a while.
         */
        get: operations["adminReplicas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/mcp_servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The MCP servers
         * @description Their state as the answering process sees it, for users with the role `admin`.
         */
        get: operations["adminMCPServers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ui": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A message, or answers to calls that wait, from a client of the AI SDK
         * @description The endpoint of `useChat` (ai 5, 6 and 7). `id` is the chat's key. The last message is the user's, which starts a run
         *     (or edits a question, or asks for an answer again), or it is the assistant's with the answers to calls that wait. The
         *     answer is a UI message stream. See `docs/wires.md`.
         */
        post: operations["postUI"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ui/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                id: components["parameters"]["Thread"];
            };
            cookie?: never;
        };
        /** The run under way in the chat, from its beginning, for a client of the AI SDK */
        get: operations["resumeUI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ui/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                id: components["parameters"]["Thread"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the run under way in the chat */
        post: operations["stopUI"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ui/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                id: components["parameters"]["Thread"];
            };
            cookie?: never;
        };
        /** The chat's messages as UIMessages, for a client of the AI SDK to begin with */
        get: operations["getUIMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A message, or the outcomes of tools, from a client of OpenAI's chat completions
         * @description The endpoint of every OpenAI client. `messages` ends with the user's message, which starts a run, or with the outcomes
         *     of tools of the client, which continue one. `metadata.chat_id`, or the header `X-Chattray-Chat-Id` or `X-OpenWebUI-Chat-Id`,
         *     names the chat; without it the request stands alone. The answer is a stream of chunks, or one body. See `docs/wires.md`.
         */
        post: operations["postChatCompletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The models as OpenAI's clients list them
         * @description `chattray`, and `chattray/<page>` for each page. If several models are offered, each also with `@<model>`.
         */
        get: operations["listOpenAIModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The model's id
                 * @example chattray
                 */
                id: components["parameters"]["OpenAIModel"];
            };
            cookie?: never;
        };
        /** One model */
        get: operations["getOpenAIModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{id}/{page}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The model's id
                 * @example chattray
                 */
                id: components["parameters"]["OpenAIModel"];
                /**
                 * @description The part of the model's id after the slash, from clients that do not escape it
                 * @example streams
                 */
                page: string;
            };
            cookie?: never;
        };
        /** One model, whose id has a slash */
        get: operations["getOpenAIPageModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agui": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A run from its beginning as events, or what a thread has
         * @description With `runId` the answer is the run's events: of the service's own `run_id`, or of the `runId` of the request that began
         *     it. With `threadId` alone it is JSON for TanStack AI to begin with: `messages`, `activeRun`, `interrupts`, `page`.
         */
        get: operations["getAGUI"];
        put?: never;
        /**
         * A message, or answers to calls that wait, from a client of the Agent-User Interaction Protocol
         * @description The endpoint of `HttpAgent` (`@ag-ui/client` 1.0 and 0.0.59) and of TanStack AI. The body is a `RunAgentInput`; the same
         *     `runId` attaches to its run. The last message is the user's, or `resume` and the tool messages at the end answer calls
         *     that wait. The ids may also be called `thread_id` and `run_id`. See `docs/wires.md`.
         */
        post: operations["postAGUI"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agui/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the run under way in a thread */
        post: operations["stopAGUI"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/copilotkit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The routes below as one, for CopilotKit with `useSingleEndpoint`
         * @description `method` is `info`, `agent/run`, `agent/connect` or `agent/stop`; `params` has the `agentId` and, to stop, the `threadId`; `body` is that of the other route, as is the answer. `agent/run` also counts as a request that starts a run.
         */
        post: operations["callCopilotKit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/copilotkit/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The agents and what the service can do, for CopilotKit */
        get: operations["getCopilotKitInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/copilotkit/agent/{agent}/run": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `default`, or a page, which is then the `current_page`
                 * @example default
                 */
                agent: components["parameters"]["Agent"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** As `POST /api/agui`, for CopilotKit without its own runtime */
        post: operations["runCopilotKit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/copilotkit/agent/{agent}/connect": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `default`, or a page, which is then the `current_page`
                 * @example default
                 */
                agent: components["parameters"]["Agent"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The thread's messages, and then the run under way, for CopilotKit */
        post: operations["connectCopilotKit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/copilotkit/agent/{agent}/stop/{thread}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `default`, or a page, which is then the `current_page`
                 * @example default
                 */
                agent: components["parameters"]["Agent"];
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                thread: components["parameters"]["ThreadOfAgent"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the run under way in a thread */
        post: operations["stopCopilotKit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/copilotkit/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The user's chats, for CopilotKit */
        get: operations["listCopilotKitThreads"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/copilotkit/threads/{thread}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                thread: components["parameters"]["ThreadOfAgent"];
            };
            cookie?: never;
        };
        /** A chat's messages, for CopilotKit */
        get: operations["getCopilotKitMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A message, or answers to calls that wait, from a client of OpenAI's Responses API
         * @description `input` is the user's message, or has answers to calls that wait: `function_call_output`, `mcp_approval_response`. The chat is
         *     that of `previous_response_id`, of `conversation` (`conv_<chat_id>`) or of `metadata.chat_id`. The answer is a stream of
         *     events with `stream`, the response as it is now with `background`, else the whole response. See `docs/wires.md`.
         */
        post: operations["postResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The response's id
                 * @example resp_019ac0de000070008000000000000001_0
                 */
                id: components["parameters"]["ResponseID"];
            };
            cookie?: never;
        };
        /** A response as it is now, or its events */
        get: operations["getResponse"];
        put?: never;
        post?: never;
        /** Not possible, because a response is part of a chat; delete the chat */
        delete: operations["deleteResponse"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The response's id
                 * @example resp_019ac0de000070008000000000000001_0
                 */
                id: components["parameters"]["ResponseID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the run of a response */
        post: operations["cancelResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/input_items": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The response's id
                 * @example resp_019ac0de000070008000000000000001_0
                 */
                id: components["parameters"]["ResponseID"];
            };
            cookie?: never;
        };
        /** The user's message that a response answers */
        get: operations["listResponseInput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An open JSON object */
        Object: {
            [key: string]: unknown;
        };
        /** @description An event of a run, in the dialect `chat`. Clients ignore types that they do not know. */
        ChatEvent: components["schemas"]["StatusEvent"] | components["schemas"]["TextDeltaEvent"] | components["schemas"]["ToolStartEvent"] | components["schemas"]["ToolProgressEvent"] | components["schemas"]["ToolCompleteEvent"] | components["schemas"]["ApprovalRequestEvent"] | components["schemas"]["ApprovalResolvedEvent"] | components["schemas"]["ClientToolCallEvent"] | components["schemas"]["CompleteEvent"] | components["schemas"]["ErrorEvent"] | components["schemas"]["CancelledEvent"];
        /**
         * @description A frame of a run, in the dialect `messages`: a fragment of a message, or an event of the levels (stream, thread,
         *     block, message). Frames of one `message_id` fold into one message: each `delta` changes its `props`. Every frame
         *     names its block, except those of the stream as a whole.
         *
         *     A block of type `llm` is a call of the model; a block of type `tool` or `mcp` is what its tools do, `mcp` where all of
         *     them are of MCP servers. In such a block each call has a `loading`, its status line. While that is open the call has
         *     a `tool_call` (before it an `approval` or a `client_tool_call`, if it had to wait) and a `text`, its result. Calls
         *     that run at the same time have a thread each. If a call of an MCP server runs at the same time as calls of other
         *     tools, it has a block of its own in its thread.
         */
        MessageFrame: {
            /**
             * @description `text`, `thinking`, `loading`, `tool_call`, `approval`, `client_tool_call`, `image`, `audio`, `video`, `action`, `error`,
             *     `event`, or the type of a payload
             */
            type: string;
            /**
             * @description They depend on the type. A `loading` has those of StatusLine, an `event` has its name and `data`, a `stream_end`
             *     has those of StreamEnd. A `tool_call` has `id`, `name` and `arguments`; one that runs also has `index`,
             *     `progress`, `stage`, `status_message`, `data`, `title`, and `denied` if the user did not allow it. `streamed`
             *     names the argument whose text is the content of a block; `arguments` leaves it out. The `text` of a result has
             *     `tool_use_id`, `is_error` and `done`. A block that a tool writes has `meta` and `content`. `withdrawn: true` means that
             *     what was written into the block no longer counts, because the user has withdrawn it or the call has failed: the
             *     block is as it was before, or gone. What waited in it before is shown again in a message of its own. The `data` of an event
             *     `withdrawn` says the same of a block of a document, `ref`: one that the answer itself was written into, one
             *     that was whole before the user reverted or deleted it, one that was planned and not written when the run was
             *     stopped or failed, or, with `tool_use_id`, one that a call writes again in another place
             */
            props?: Record<string, unknown>;
            /** @description `C` and the sequence number */
            chunk_id: string;
            message_id?: string;
            block_id?: string;
            thread_id?: string;
            delta?: boolean;
            /** @description Where in `props` the delta applies; at each top-level key when absent */
            delta_path?: string;
            /**
             * @default append
             * @enum {string}
             */
            delta_action?: "append" | "replace" | "merge" | "set";
            type_change?: boolean;
            metadata: components["schemas"]["MessageMetadata"];
        };
        /** @description When a frame was made, and its number in the run */
        MessageMetadata: {
            /**
             * Format: int64
             * @description Milliseconds since the Unix epoch
             */
            timestamp: number;
            /** Format: int64 */
            sequence: number;
        };
        /** @description The data of `stream_end`, the last event in the dialect `messages` */
        StreamEnd: {
            /** @enum {string} */
            status: "completed" | "error" | "cancelled";
            /** @description The answer, when completed */
            payload?: components["schemas"]["ChatResponsePayload"];
            code?: components["schemas"]["Code"];
            message?: string;
            retryable?: boolean;
            /** @description The partial answer that is kept */
            message_id?: string;
            /** @description What the run has used of models when it failed or was cancelled; absent if that is nothing or unknown */
            usage?: components["schemas"]["Usage"];
        };
        /**
         * @description How the user made a message
         * @enum {string}
         */
        InteractionType: "text_input" | "value_selected" | "action_executed";
        /** @description Starts a run. An optional member that is null counts as absent. `message` may be empty for `action_executed` and for `regenerate_message_id` only */
        ChatRequest: {
            /** @description At most 100,000 characters (a setting) */
            message: string;
            /** @description The page, and what it shows; unknown keys are kept. It is never trusted for identity */
            context?: components["schemas"]["Object"];
            /** @description `text_input` when absent */
            interaction_type?: components["schemas"]["InteractionType"];
            /** @description Needed for `action_executed`, and 422 without it */
            action_metadata?: components["schemas"]["ActionMetadata"];
            /**
             * Format: int64
             * @description The chat; 0 means none. An unknown chat, or one of another user, is 404
             */
            conversation_id?: number;
            /** @description The chat by its own key; an unknown one makes a chat under this key */
            chat_id?: string;
            /** @description Used only for a new chat: without `conversation_id` and `chat_id`, or with a `chat_id` that is unknown. They become the chat's first messages */
            conversation_history?: components["schemas"]["HistoryMessage"][];
            /**
             * @description The id of the user's message, instead of one that the service makes.
             *     An id in use is 409 `conflict`; if an earlier request that is identical,
             *     apart from `if_busy`, used it, the answer is the run which that request began.
             */
            message_id?: string;
            /**
             * @description Keeps a new chat out of the list of chats; `GET /api/chats?unlisted=true` has it
             * @default false
             */
            unlisted?: boolean;
            /** @description One of the models that the service allows */
            model?: string;
            /**
             * @description What happens to the run when its last reader disconnects. With `cancel` it is cancelled unless a reader comes
             *     within the setting `on_disconnect_grace`; a stream in any dialect and a websocket count as readers.
             * @default continue
             * @enum {string}
             */
            on_disconnect?: "continue" | "cancel";
            /**
             * @description What to do while another run of the chat is under way: respond with 409, wait until it ends, or first cancel it
             *     and all messages that wait
             * @default reject
             * @enum {string}
             */
            if_busy?: "reject" | "queue" | "cancel";
            /** @description A user message of this chat that this one replaces, see `attachments` about its files */
            edit_message_id?: string;
            /** @description An assistant message of this chat, or an answer under way, whose question is answered again; not together with `edit_message_id` */
            regenerate_message_id?: string;
            /**
             * @description The files of the message. With `edit_message_id` and neither this member nor `keep_attachments` the new message
             *     keeps all files of the edited one; an empty list drops them
             */
            attachments?: components["schemas"]["Attachment"][];
            /**
             * @description Only with `edit_message_id`: the files of the edited message that the new one keeps, before those of `attachments`,
             *     as indexes of its list `attachments`. Kept and new files together have the limits of one message, and 8 MiB
             */
            keep_attachments?: number[];
            /** @description Tools that the page runs: the model's calls come as `client_tool_call` */
            client_tools?: components["schemas"]["ClientTool"][];
        };
        /** @description A tool of the page; its name must differ from those of all offered tools */
        ClientTool: {
            /** @description Without `__` */
            name: string;
            /** @description When to call it and what it gives, for the model */
            description: string;
            /**
             * @description A JSON schema of type object for the model, of at most 32 KiB, 64 levels and 10,000 values, which refers to nothing
             *     outside of it. The page checks the arguments: the service only makes sure that they are an object
             */
            input_schema: unknown;
        };
        /** @description The click on a suggested action that the service handles */
        ActionMetadata: {
            action_identifier: string;
            /** @description Data that matches the handler's schema; unknown keys are 422 */
            action_data?: unknown;
            /** @description The payload of the suggested action. Without it the newest suggestion with the same data counts, else the only payload that the action can accept; several are 422. A payload that is decided is 409 */
            payload_id?: string;
        };
        /** @description An earlier message that the client sends along. A client may send its own message objects: other members have no effect */
        HistoryMessage: {
            /** @enum {string} */
            role: "user" | "assistant";
            content: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description A file of the user; the content is text for a text type, base64 for an image or a PDF file. The model gets the
         *     text of a PDF file, which its message keeps with the name and the size; one that is encrypted or broken, has no
         *     text, or exceeds `limits.pdf_pages`, `limits.pdf_time` or `limits.pdf_memory` is 422. So is an image that does not
         *     begin as a file of its type. An image or a PDF file may have 5 MiB, a text file 256 KiB; the texts of a message, those
         *     of PDF files too, may have 512 KiB together
         */
        Attachment: {
            name: string;
            /** @description A text type, `image/png`, `image/jpeg`, `image/gif`, `image/webp` or `application/pdf` */
            mime: string;
            content: string;
        };
        /** @description A line for the status display. The first one of a run carries the ids, the first one after a recovery `attempt`, `kept_through` and `text` */
        StatusEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "status";
            message: string;
            code?: components["schemas"]["StatusCode"];
            values?: components["schemas"]["StatusValues"];
            run_id?: string;
            /** Format: int64 */
            conversation_id?: number;
            chat_id?: string;
            user_message_id?: string;
            attempt?: number;
            /**
             * Format: int64
             * @description Events of earlier attempts after this sequence number no longer count
             */
            kept_through?: number;
            /** @description The visible text that still counts; later deltas follow it */
            text?: string;
            /** @description `approve` and `deny`, for the page to handle, while a call waits for the user; `data` has `approval_id` and `approved` */
            suggested_actions?: components["schemas"]["SuggestedAction"][];
        };
        /**
         * @description What a status line says, for clients with words of their own. A client shows the `message` of a line without a code
         *     and of one whose code it does not know.
         * @enum {string}
         */
        StatusCode: "thinking" | "resuming" | "running_tool" | "waiting_for_user" | "waiting_for_page" | "waiting_for_answer" | "waiting_for_model";
        /** @description The values in the text of a status line */
        StatusValues: {
            /** @description The name of the tool that runs or waits */
            tool?: string;
        };
        /** @description The `props` of a frame of type `loading`, in the dialect `messages` */
        StatusLine: {
            message: string;
            code?: components["schemas"]["StatusCode"];
            values?: components["schemas"]["StatusValues"];
        };
        /** @description A piece of the visible text; all of them joined give `payload.message`, outer white space aside */
        TextDeltaEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "text_delta";
            text: string;
        };
        /** @description A tool begins */
        ToolStartEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "tool_start";
            tool: string;
            /** @description The arguments as the model wrote them. Each string is cut after 16,000 characters; `/api/chat/runs/{run_id}/tools/{index}` has them whole */
            input: unknown;
            tool_use_id: string;
            /** @description The number of the call in its run, from 0 */
            index: number;
            /** @description What the call does, for people */
            title?: string;
            /** @description The call does not run, as the user did not approve it; `tool_complete` follows */
            denied?: boolean;
        };
        /** @description A step of a running tool */
        ToolProgressEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "tool_progress";
            tool: string;
            /**
             * @description The tool's own word. `writing` comes before `tool_start` (after it where the call had to wait for another one): the model
             *     writes the call, and its text goes into a block of a document; `data` is a BlockPiece
             */
            stage: string;
            message: string;
            /** @description Never decreases */
            progress: number;
            /** @description Any JSON; null when there is none */
            data: unknown;
            tool_use_id?: string;
            /** @description The number of the call in its run, from 0 */
            index: number;
        };
        /** @description A piece of what a call writes into a block of a document, as the `data` of a ToolProgressEvent */
        BlockPiece: {
            block_id: string;
            document_id: string;
            /** @description The block's type */
            type: string;
            /** @description The block's earlier content no longer counts. After a call that failed what waited in the block before follows. With `end` what was written into it is withdrawn: the block is as it was before, or is removed */
            reset?: boolean;
            /** @description The block's metadata, before its content */
            meta?: components["schemas"]["Object"];
            /** @description A piece of the content */
            content?: string;
            /** @description No more content follows */
            end?: boolean;
        };
        /** @description A tool ended; the marker `[[tool:N]]` with its `index` follows as a `text_delta` */
        ToolCompleteEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "tool_complete";
            tool: string;
            /** @description The number of the call in its run, from 0 */
            index: number;
            tool_use_id?: string;
            is_error?: boolean;
            /** @description What the call has done, for people. With a `|` it has two forms, for one call and for `{n}` calls: `Read a report|Read {n} reports` */
            done?: string;
        };
        /**
         * @description A call waits until the user approves or denies it; the run is `waiting`. After a recovery the same approval
         *     comes again, under its id.
         */
        ApprovalRequestEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "approval_request";
            approval_id: string;
            /**
             * @description The tool's name. One of an MCP server begins with the server's name in the settings and `__`; what follows, and
             *     its description, are the server's own words. Show the user where such a tool comes from
             */
            tool: string;
            tool_use_id: string;
            /** @description The number of the call in its run, as in `tool_start`; absent from runs of older versions */
            index?: number;
            /** @description The arguments as the model wrote them */
            input: unknown;
            /** @description The question for the user */
            message: string;
            /**
             * Format: date-time
             * @description When it counts as denied
             */
            expires_at: string;
            /** @description What the call does, for people */
            title?: string;
            /** @description What the tool is, as the model reads it */
            description?: string;
            reason?: components["schemas"]["ApprovalReason"];
            /** @description The reason as a sentence */
            reason_text?: string;
        };
        /**
         * @description Why the user is asked: the tool always asks; or the model has read text from outside and now calls a tool with
         *     effects (every tool, where the setting `approve_after_untrusted` is `all`); or it has read such text and put a URL
         *     together itself, which may carry data out.
         * @enum {string}
         */
        ApprovalReason: "tool_confirms" | "after_untrusted" | "unseen_url";
        /** @description An approval is resolved; `tool_start` follows, also for a call that is not run */
        ApprovalResolvedEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "approval_resolved";
            approval_id: string;
            /** @description False also if nobody answered in time */
            approved: boolean;
        };
        /**
         * @description The page is to run one of its `client_tools` and to answer at `tool_results`; `tool_start` follows then. After
         *     a recovery the same call comes again, under its `tool_use_id`.
         */
        ClientToolCallEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "client_tool_call";
            tool: string;
            tool_use_id: string;
            /** @description The number of the call in its run, as in `tool_start`; absent from runs of older versions */
            index?: number;
            /** @description The arguments; they match the schema */
            input: unknown;
            /**
             * Format: date-time
             * @description When the call has failed
             */
            expires_at: string;
        };
        /**
         * @description Who has to answer a call: the user (`approval`) or the page (`client_tool`)
         * @enum {string}
         */
        WaitKind: "approval" | "client_tool";
        /**
         * @description How a wait ended; `result` is the result of a tool of the page
         * @enum {string}
         */
        WaitAnswer: "approved" | "denied" | "expired" | "result";
        /** @description A call that waits for the user or for the page, or has waited */
        Wait: {
            /** @description The number of the call in its run, as in `tool_start` */
            index: number;
            kind: components["schemas"]["WaitKind"];
            /** @description The id of the approval; absent from the call of a tool of the page */
            approval_id?: string;
            tool_use_id: string;
            tool: string;
            /** @description The arguments as the model wrote them */
            input: unknown;
            /** Format: date-time */
            expires_at: string;
            /** @description Absent while the call waits */
            answer?: components["schemas"]["WaitAnswer"];
            /** Format: date-time */
            answered_at?: string;
        };
        /** @description The waits of a run */
        WaitList: {
            items: components["schemas"]["Wait"][];
        };
        /** @description The user's yes or no to a call */
        ApprovalAnswer: {
            approved: boolean;
            /** @description An object that replaces the call's arguments, with `approved: true` only */
            input?: unknown;
        };
        /** @description The outcome of a tool of the page */
        ClientToolResult: {
            tool_use_id: string;
            /** @description The index of the call, as in `client_tool_call`: it distinguishes calls to which the model gave the same id */
            index?: number;
            /** @description Any JSON; the model reads a string as it is */
            output: unknown;
            is_error?: boolean;
        };
        /** @description The last event of a run that has its answer */
        CompleteEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "complete";
            payload: components["schemas"]["ChatResponsePayload"];
        };
        /** @description The last event of a run that failed */
        ErrorEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "error";
            message: string;
            code: components["schemas"]["Code"];
            /** @description The same request may succeed later */
            retryable?: boolean;
            /** @description The partial answer that is kept */
            message_id?: string;
        };
        /** @description The last event of a run that was cancelled */
        CancelledEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "cancelled";
            /** @description The partial answer that is kept */
            message_id?: string;
        };
        /**
         * @description Why the model's last reply ended
         * @enum {string}
         */
        StopReason: "end_turn" | "max_iterations" | "max_tokens" | "content_filter" | "refusal";
        /** @description The payload of `complete`, and the answer of `POST /api/chat` */
        ChatResponsePayload: {
            /** @description The visible text with its `[[tool:N]]` markers */
            message: string;
            suggested_values?: components["schemas"]["SuggestedValue"][];
            suggested_actions?: components["schemas"]["SuggestedAction"][];
            /** @description The last payload of a tool, else the last of the model's text, else, when tools ran, `tool_history` */
            custom_payload?: components["schemas"]["CustomPayload"];
            /** @description All payloads of the run, in order */
            payloads?: components["schemas"]["CustomPayload"][];
            tool_history?: components["schemas"]["ToolCall"][];
            /** Format: int64 */
            conversation_id: number;
            chat_id?: string;
            message_id: string;
            run_id: string;
            stop_reason: components["schemas"]["StopReason"];
            usage: components["schemas"]["Usage"];
            warnings?: string[];
            /** @description The trace, for users who may see it */
            diagnostics?: components["schemas"]["Diagnostics"];
        };
        /** @description A chip; a click sends `value` as the next message */
        SuggestedValue: {
            label: string;
            value: string;
        };
        /** @description A button that the page (`client`) or the service (`server`) handles */
        SuggestedAction: {
            label: string;
            action: string;
            /** @enum {string} */
            handler: "client" | "server";
            /** @description Any JSON */
            data?: unknown;
            /** @description `primary`, `secondary` or `warning` */
            style?: string;
            /** @description The payload that the action accepts: it cannot be done once the payload is decided */
            payload_id?: string;
        };
        /** @description Structured data for the page to render */
        CustomPayload: {
            /** @description 8 hex digits, unique in its chat; absent on type `tool_history` */
            payload_id?: string;
            type: string;
            /** @description As the schema of its type says */
            data: unknown;
            summary?: string;
            /** @enum {string} */
            source?: "tool" | "llm";
            /**
             * @description The user's decision, once there is one
             * @enum {string}
             */
            outcome?: "accepted" | "rejected";
        };
        /** @description An entry of `tool_history`, in the order in which the model asked */
        ToolCall: {
            tool_name: string;
            /** @description The arguments. Each string is cut after 16,000 characters; `/api/chat/runs/{run_id}/tools/{index}` has them whole */
            input: unknown;
            /** @description The output of the tool. It is cut after 16,000 characters; `/api/chat/runs/{run_id}/tools/{index}` has it whole */
            output: string;
            is_error: boolean;
            tool_use_id?: string;
            /** Format: int64 */
            duration_ms: number;
            /** @description What the call does, for people */
            title?: string;
            /** @description What the call has done, for people. With a `|` it has two forms, for one call and for `{n}` calls: `Read a report|Read {n} reports` */
            done?: string;
        };
        /** @description US dollars, rounded to millionths */
        USD: number;
        /** @description Tokens, and what they cost */
        Usage: {
            input_tokens: number;
            output_tokens: number;
            total_tokens: number;
            /** @description The cost of the calls whose model has a price; absent if there are none */
            cost_usd?: components["schemas"]["USD"];
        };
        /** @description What one model was used for on one day */
        UsageItem: {
            /** @description The day, in UTC */
            date: string;
            model: string;
            /** @description Runs that ended on the day and whose last reply came from this model */
            runs: number;
            input_tokens: number;
            output_tokens: number;
            /** @description Absent when the model has no price */
            cost_usd?: components["schemas"]["USD"];
        };
        /** @description The sum of the items */
        UsageTotal: {
            runs: number;
            input_tokens: number;
            output_tokens: number;
            cost_usd?: components["schemas"]["USD"];
        };
        /** @description What a user has used in a range of days, ordered by day and model */
        UsageReport: {
            from: string;
            to: string;
            items: components["schemas"]["UsageItem"][];
            total: components["schemas"]["UsageTotal"];
        };
        /** @description The trace of a run, for those who may see system prompts */
        Diagnostics: {
            model: string;
            max_tokens: number;
            max_iterations: number;
            temperature: number;
            tools: string[];
            system_prompt: string;
            messages: components["schemas"]["TraceMessage"][];
            context: components["schemas"]["Object"];
            raw_llm_response: string;
            iterations: components["schemas"]["TraceIteration"][];
            /** @description What the model or a tool wrote for the page and is not shown; the first 64 parts, with at most 2 MiB of text */
            dropped_payloads?: components["schemas"]["DroppedPart"][];
        };
        /** @description A part of a reply, or of a tool's result, that is not shown */
        DroppedPart: {
            /** @description The payload's type, or SUGGESTED_VALUES or SUGGESTED_ACTIONS. Empty in traces of earlier releases. */
            type: string;
            /** @description Why it is not shown, for developers; at most 300 characters. Empty in traces of earlier releases. */
            reason: string;
            /** @description The part as it was written; at most 256 KiB */
            text?: string;
        };
        /** @description A message as it was sent to the model */
        TraceMessage: {
            /** @enum {string} */
            role: "user" | "assistant" | "tool";
            content: string;
            tool_calls?: components["schemas"]["TraceToolCall"][];
            tool_call_id?: string;
        };
        /** @description A call of the model, with the messages sent and the tools it asked for */
        TraceIteration: {
            /** @description The model that replied, where it is not the one asked for */
            model?: string;
            messages: components["schemas"]["TraceMessage"][];
            reply: string;
            /** @description `tool_calls` if the reply asks for tools; `error` or `cancelled` if the end of the run cut it off */
            stop_reason: string;
            usage: components["schemas"]["Usage"];
            /** Format: date-time */
            started_at: string;
            /** Format: int64 */
            duration_ms: number;
            tool_calls?: components["schemas"]["TraceToolCall"][];
        };
        /** @description A tool call, with what the tool gave and what the model got */
        TraceToolCall: {
            tool_name: string;
            tool_use_id: string;
            /** @description Any JSON */
            input: unknown;
            /** @description Cut after 16,000 characters; `/api/chat/runs/{run_id}/tools/{index}` has it whole */
            output?: string;
            /** @description What the model got instead of this output */
            model_output?: string;
            is_error?: boolean;
            /** @description The call's payload; `payloads` and `GET /api/chats/{conversation_id}/payloads/{payload_id}` have it whole */
            payload_id?: string;
            /** Format: int64 */
            duration_ms?: number;
        };
        /**
         * @description The state of a message
         * @enum {string}
         */
        MessageStatus: "complete" | "incomplete" | "cancelled" | "superseded" | "error";
        /** @description A message of the user or of the assistant */
        Message: {
            id: string;
            /** Format: int64 */
            conversation_id: number;
            /** @enum {string} */
            role: "user" | "assistant";
            type: string;
            content: string;
            status: components["schemas"]["MessageStatus"];
            /** Format: date-time */
            created_at: string;
            run_id?: string;
            /** @description All ids that the client has chosen for an answer, comma separated, `id` first; absent if there is only `id` */
            block_ids?: string;
            suggested_values?: components["schemas"]["SuggestedValue"][];
            suggested_actions?: components["schemas"]["SuggestedAction"][];
            custom_payload?: components["schemas"]["CustomPayload"];
            payloads?: components["schemas"]["CustomPayload"][];
            tool_history?: components["schemas"]["ToolCall"][];
            stop_reason?: components["schemas"]["StopReason"];
            usage?: components["schemas"]["Usage"];
            warnings?: string[];
            feedback?: components["schemas"]["Feedback"];
            error?: components["schemas"]["MessageFailure"];
            /** @description `value_selected` where the user chose a suggested value */
            interaction_type?: components["schemas"]["InteractionType"];
            /** @description The click that this user message records */
            action?: components["schemas"]["ActionMetadata"];
            /** @description The files of a user message, without their content */
            attachments?: components["schemas"]["AttachmentInfo"][];
            /** @description Present if the message has other versions */
            version?: components["schemas"]["Version"];
        };
        /** @description The place of a message among the versions of a question, which were edited, or of an answer, which was asked for again; the first is number 1 */
        Version: {
            number: number;
            count: number;
            previous_id?: string;
            next_id?: string;
        };
        /** @description One of the versions of a message, with the beginning of its text */
        VersionItem: {
            message_id: string;
            number: number;
            current: boolean;
            /** @description For a version that is not current, its status before it was replaced */
            status: components["schemas"]["MessageStatus"];
            preview: string;
            /** Format: date-time */
            created_at: string;
        };
        /** @description The versions of a message, the oldest first */
        VersionList: {
            items: components["schemas"]["VersionItem"][];
        };
        /** @description A model that a request may name */
        ModelOffer: {
            name: string;
            /** @description The model that answers if a request names none */
            default: boolean;
            /** @description In tokens; absent where it is not known */
            context_window?: number;
            price?: components["schemas"]["ModelPrice"];
        };
        /** @description US dollars for a million tokens */
        ModelPrice: {
            input: number;
            output: number;
        };
        /** @description The models that a request may name */
        ModelList: {
            items: components["schemas"]["ModelOffer"][];
        };
        /** @description An attachment without its content */
        AttachmentInfo: {
            name: string;
            mime: string;
            /** @description The size of the file in bytes */
            size: number;
        };
        /** @description A run of any user */
        AdminRun: {
            run_id: string;
            /** Format: int64 */
            conversation_id: number;
            user_id: string;
            user_name?: string;
            state: components["schemas"]["RunState"];
            attempt: number;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description Absent until the run has ended
             */
            ended_at?: string;
            /** @description The model that wrote the last reply or was asked for it; absent until the run has ended */
            model?: string;
            /** @description Absent for a page that the service does not have */
            page?: string;
            /** @description The process that has the run, or had it last */
            replica?: string;
            stop_reason?: components["schemas"]["StopReason"];
            usage: components["schemas"]["Usage"];
            error?: components["schemas"]["MessageFailure"];
        };
        /** @description A page of runs, the newest first */
        AdminRunList: {
            items: components["schemas"]["AdminRun"][];
            /** @description Of the next page; absent on the last one */
            next_cursor?: string;
        };
        /**
         * @description What a run did during a span
         * @enum {string}
         */
        SpanKind: "queue" | "model" | "tool" | "approval" | "client_tool";
        /** @description A stretch of the time of a run */
        AdminSpan: {
            kind: components["schemas"]["SpanKind"];
            /** @description The tool, or the model once it is known */
            name?: string;
            attempt: number;
            /**
             * Format: int64
             * @description Tells apart what a tool does in threads of its own; 0 is the run itself
             */
            thread?: number;
            tool_use_id?: string;
            /** Format: date-time */
            started_at: string;
            /**
             * Format: date-time
             * @description Absent for a span that has not ended, or was broken off with its attempt
             */
            ended_at?: string;
            /** Format: date-time */
            first_token_at?: string;
            usage?: components["schemas"]["Usage"];
            is_error?: boolean;
            /** @description Why a call of the model ended, or how an approval was answered */
            outcome?: string;
        };
        /** @description An attempt of a run */
        AdminAttempt: {
            number: number;
            /** @description The process that had it; absent if that is not known */
            replica?: string;
            /** Format: date-time */
            started_at?: string;
        };
        /** @description A moment after which something of the run was on disk */
        AdminCommit: {
            /** Format: date-time */
            at: string;
            /** @description One of begun, tool_started and ended */
            what: string;
            name?: string;
        };
        /** @description What a run did, in order of time */
        AdminTimeline: {
            run: components["schemas"]["AdminRun"];
            attempts: components["schemas"]["AdminAttempt"][];
            spans: components["schemas"]["AdminSpan"][];
            commits: components["schemas"]["AdminCommit"][];
            /** @description The run's log was deleted because of its age; only the tools are left */
            log_dropped?: boolean;
            /** @description There are more spans than are shown */
            truncated?: boolean;
            /** Format: int64 */
            last_sequence: number;
        };
        /** @description An event of the log of a run */
        AdminEvent: {
            /** Format: int64 */
            sequence: number;
            /** Format: date-time */
            at: string;
            event?: components["schemas"]["Object"];
        };
        /** @description A part of the log of a run */
        AdminEventList: {
            items: components["schemas"]["AdminEvent"][];
            /**
             * Format: int64
             * @description The number to continue after; absent at the end
             */
            next?: number;
        };
        /** @description What runs used, of a day, a model, a page, a user or an error code */
        AdminTotal: {
            name: string;
            /** Format: int64 */
            runs: number;
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            cancelled: number;
            /**
             * Format: int64
             * @description Runs that another model than the first one answered
             */
            fallbacks: number;
            /** Format: int64 */
            input_tokens: number;
            /** Format: int64 */
            output_tokens: number;
            cost_usd?: components["schemas"]["USD"];
        };
        /** @description The usage of all users between two days, both included */
        AdminStats: {
            /** Format: date */
            from: string;
            /** Format: date */
            to: string;
            days: components["schemas"]["AdminTotal"][];
            models: components["schemas"]["AdminTotal"][];
            pages: components["schemas"]["AdminTotal"][];
            /** @description Their failed, cancelled and fallback runs are not counted */
            users: components["schemas"]["AdminTotal"][];
            errors: components["schemas"]["AdminTotal"][];
            /** @description The day from which users are counted; absent if it is the first one */
            users_from?: string;
        };
        /** @description A process that serves the database, or did lately */
        AdminReplica: {
            id: string;
            name?: string;
            /** @description Its lease is valid */
            live: boolean;
            /** @description It is about to leave */
            draining?: boolean;
            /** Format: date-time */
            started_at?: string;
            /**
             * Format: date-time
             * @description When its lease ends
             */
            expires_at?: string;
            /** Format: int64 */
            open_runs: number;
            /** @description The process that answers */
            this?: boolean;
        };
        /** @description The processes, the newest first */
        AdminReplicaList: {
            items: components["schemas"]["AdminReplica"][];
        };
        /** @description An MCP server as the answering process sees it */
        AdminMCPServer: {
            name: string;
            connected: boolean;
            tools: string[];
            /** @description Why it is not connected */
            error?: string;
        };
        /** @description The configured MCP servers */
        AdminMCPServerList: {
            items: components["schemas"]["AdminMCPServer"][];
        };
        /** @description Why an assistant message of status `error` has no answer */
        MessageFailure: {
            code: components["schemas"]["Code"];
            message: string;
        };
        /** @description The user's rating of an answer */
        Feedback: {
            /** @enum {string} */
            rating: "up" | "down";
            /** @description What is wrong with the answer; only with `down`. `instructions` means that it did not do what it was asked to do */
            reasons?: ("incorrect" | "not_helpful" | "incomplete" | "instructions" | "sources" | "harmful" | "other")[];
            comment?: string;
        };
        /** @description A conversation of one user; `messages` and `next_cursor` are present if one chat is requested */
        Chat: {
            /** Format: int64 */
            conversation_id: number;
            /** @description The chat's own key */
            chat_id: string;
            title: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description The chat's run that is under way */
            active_run_id?: string;
            /** @description Pinned chats come first in the list */
            pinned?: boolean;
            /** @description Archived chats are in a list of their own */
            archived?: boolean;
            /** @description Unlisted chats are in a list of their own too */
            unlisted?: boolean;
            /** @description The sum of all runs of the chat, including those of replaced answers; set if one chat is requested */
            usage?: components["schemas"]["Usage"];
            messages?: components["schemas"]["Message"][];
            next_cursor?: string;
            /** @description Only in an export, which leaves out the messages after these */
            truncated?: boolean;
        };
        /** @description A page of chats, newest first */
        ChatList: {
            items: components["schemas"]["Chat"][];
            next_cursor?: string;
        };
        /** @description Renames, pins and archives a chat; at least one member is required, and the title must not be blank */
        ChatPatch: {
            title?: string;
            pinned?: boolean;
            archived?: boolean;
        };
        /** @description The user's decision about a payload */
        Resolution: {
            /** @enum {string} */
            outcome: "accepted" | "rejected";
        };
        /**
         * @description The state of a run; `waiting` is for an approval or a client tool
         * @enum {string}
         */
        RunState: "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";
        /** @description Runs */
        RunList: {
            items: components["schemas"]["Run"][];
        };
        /** @description The work on one user message */
        Run: {
            run_id: string;
            /** Format: int64 */
            conversation_id: number;
            chat_id?: string;
            state: components["schemas"]["RunState"];
            /** @description 0 until the run has begun */
            attempt: number;
            /** Format: int64 */
            last_sequence: number;
            user_message_id?: string;
            message_id?: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description Absent until the run has ended
             */
            ended_at?: string;
            stop_reason?: components["schemas"]["StopReason"];
            /** @description What the run has used of models, counted when it has ended; 0 before */
            usage: components["schemas"]["Usage"];
            error?: components["schemas"]["MessageFailure"];
        };
        /** @description The authenticated user, with what the user may see and do */
        Me: {
            /** @description Issuer and subject */
            user_id: string;
            name: string;
            roles: string[];
            may: components["schemas"]["May"];
        };
        /** @description How much is stored of a user */
        DataSize: {
            /** Format: int64 */
            chats: number;
            /** Format: int64 */
            messages: number;
            /** Format: int64 */
            documents: number;
            /**
             * Format: int64
             * @description Bytes of everything that is stored of the user, as it is stored: texts, attachments, payloads, versions of documents,
             *     requests, calls of tools, logs and traces. Parts of it are compressed. The quota counts documents and attachments
             *     alone.
             */
            bytes: number;
            /** @description Names this state of the data; `DELETE /api/me/data` needs it, within 10 minutes if answers run */
            confirm: string;
        };
        /** @description What a user may see and do beyond the user's own data */
        May: {
            /** @description The trace of runs, with the system prompt; the setting `diagnostics` says who */
            diagnostics: boolean;
            /** @description What all users have spent */
            all_usage: boolean;
            /** @description To change streams that belong to others or to everybody */
            all_streams: boolean;
        };
        /** @description A tool as a place offers it */
        Tool: {
            name: string;
            description: string;
            /** @description The JSON Schema of its arguments */
            input_schema: Record<string, unknown>;
        };
        /** @description Tools */
        ToolList: {
            items: components["schemas"]["Tool"][];
        };
        /** @description What a page offers to its chat */
        Page: {
            page: string;
            aliases: string[];
            tools: string[];
            payload_types: components["schemas"]["PayloadType"][];
            actions: components["schemas"]["Action"][];
            tabs: components["schemas"]["Tab"][];
        };
        /** @description What a tab adds to its page */
        Tab: {
            tab: string;
            tools: string[];
            payload_types: components["schemas"]["PayloadType"][];
            actions: components["schemas"]["Action"][];
            subtabs: components["schemas"]["Subtab"][];
        };
        /** @description What a subtab adds to its tab */
        Subtab: {
            subtab: string;
            tools: string[];
            payload_types: components["schemas"]["PayloadType"][];
            actions: components["schemas"]["Action"][];
        };
        /** @description Pages */
        PageList: {
            items: components["schemas"]["Page"][];
        };
        /** @description A kind of payload */
        PayloadType: {
            name: string;
            /** @enum {string} */
            source: "tool" | "llm";
            description?: string;
            /** @description The JSON Schema of its data */
            schema: unknown;
            /** @description The text before the JSON in what the model writes */
            parse_marker?: string;
        };
        /** @description An action that a page declares. A server action runs only on the pages that declare it, and for users who may do it: 403 otherwise */
        Action: {
            action: string;
            description: string;
            /** @enum {string} */
            handler: "client" | "server";
            /** @description The type of the payloads that the action accepts */
            payload_type?: string;
            /** @description The JSON Schema of its data, of an action that a page file handles with `http` */
            schema?: Record<string, unknown>;
        };
        /** @description A research question that is followed over time, with its schema */
        Stream: {
            /** Format: int64 */
            stream_id: number;
            name: string;
            purpose: string;
            /** @description What the stream looks for */
            schema: Record<string, unknown>;
            /** @description For the model, in addition to the page's instructions */
            instructions?: string;
            /** @description Absent on streams that belong to everybody */
            owner?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description What to change; an absent part is not changed */
        StreamUpdate: {
            name?: string;
            purpose?: string;
            /** @description What the stream looks for */
            schema?: Record<string, unknown>;
            instructions?: string;
        };
        /** @description Streams */
        StreamList: {
            items: components["schemas"]["Stream"][];
        };
        /** @description A report of a stream; `articles` are present if one report is requested */
        Report: {
            /** Format: int64 */
            report_id: number;
            /** Format: int64 */
            stream_id: number;
            title: string;
            summary: string;
            /** Format: date-time */
            published_at: string;
            article_count: number;
            articles?: components["schemas"]["Article"][];
        };
        /** @description Reports, newest first */
        ReportList: {
            items: components["schemas"]["Report"][];
        };
        /** @description A publication in a report */
        Article: {
            /** Format: int64 */
            article_id: number;
            /** Format: int64 */
            report_id: number;
            pmid?: string;
            doi?: string;
            title: string;
            authors: string[];
            journal?: string;
            year?: number;
            abstract?: string;
            category?: string;
            url?: string;
        };
        /**
         * @description The machine-readable error code: in problems, in `error` events and in stored messages
         * @enum {string}
         */
        Code: "rate_limited" | "upstream_auth" | "upstream_timeout" | "upstream_unavailable" | "upstream_truncated" | "upstream_error" | "context_too_long" | "content_filter" | "store_unavailable" | "interrupted" | "effect_unknown" | "run_timeout" | "internal" | "bad_request" | "invalid" | "unauthorized" | "auth_unavailable" | "forbidden" | "not_found" | "method_not_allowed" | "busy" | "cancelled" | "conflict" | "being_written" | "too_large" | "unsupported_media_type" | "too_many_runs" | "too_many_streams" | "too_many_requests" | "budget" | "request_timeout" | "shutting_down" | "precondition_failed" | "key_required" | "quota" | "misdirected";
        /** @description An ordered collection of blocks */
        Document: {
            id: string;
            title: string;
            /** @description A title that waits to be accepted */
            new_title?: string;
            /** @description The id of the document's owner */
            owner: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When the document or a block of it changed last
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Grows with every change of the document or a block of it; also its `ETag`. A document under the id of a deleted one has a greater one than that had
             */
            revision: number;
            /** @description In order of their positions; present if one document is requested */
            blocks?: components["schemas"]["Block"][];
            /** @description The ids of the blocks that wait for the user, in order of their positions; absent where there are none */
            pending?: string[];
        };
        /** @description A page of documents, the newest first */
        DocumentList: {
            items: components["schemas"]["Document"][];
            next_cursor?: string;
        };
        /** @description The versions of a document, the newest first */
        DocumentVersionList: {
            items: components["schemas"]["DocumentVersion"][];
        };
        /**
         * @description What changed the document: what was pending was accepted, the user changed it, or another version was restored
         * @enum {string}
         */
        VersionReason: "accepted" | "edited" | "restored";
        /** @description The accepted content of a document before a change */
        DocumentVersion: {
            /**
             * Format: int64
             * @description The document's revision at that time; it names the version
             */
            revision: number;
            title: string;
            reason: components["schemas"]["VersionReason"];
            /** @description The number of blocks */
            blocks: number;
            /**
             * Format: date-time
             * @description The time of the change
             */
            created_at: string;
        };
        DocumentCreate: {
            id?: string;
            title: string;
        };
        DocumentPatch: {
            title: string;
        };
        /**
         * @description Which change of a block waits for the user
         * @enum {string}
         */
        BlockState: "clean" | "pending_new" | "pending_edit" | "pending_delete" | "pending_move";
        /** @description An element of content, of a document or of a chat, and how to render it */
        Block: {
            id: string;
            document_id?: string;
            chat_id?: string;
            role?: string;
            /** @description `md`, `csv`, `image/jpg`, `image/png`, `interactive_chart` (its content is CSV, its meta a Vega-Lite specification without data), or any other */
            type: string;
            /** @description What the user has accepted or written; absent from a block that is new */
            current?: string;
            /** @description What waits to be accepted */
            new?: string;
            /** @description Metadata about how to render it */
            meta?: {
                [key: string]: unknown;
            };
            /** @description Metadata that waits with `new` */
            new_meta?: {
                [key: string]: unknown;
            };
            state: components["schemas"]["BlockState"];
            /** @description Orders the blocks of a document, byte by byte */
            position: string;
            /** @description Where the block will be once it is accepted */
            new_position?: string;
            /**
             * Format: int64
             * @description The document's revision at the block's last change; also its `ETag`
             */
            revision: number;
        };
        BlockCreate: {
            id?: string;
            /** @description Any but those that a `Chunk` has for something else than a block's content, such as `status` */
            type: string;
            content?: string;
            meta?: {
                [key: string]: unknown;
            };
            after_block_id?: string;
        };
        BlockPatch: {
            content?: string;
            meta?: {
                [key: string]: unknown;
            };
            after_block_id?: string;
        };
        /**
         * @description What a client sends over the websocket, one JSON object per frame. By `name`:
         *
         *     | `name` | what | members of its own |
         *     | --- | --- | --- |
         *     | `message`, `chat_message` | a question; it waits for its turn in a busy chat | `message`, `model`, `mode`, `block_id`, `block_ids`, `document_id`, `context`, `interaction_type`, `action_metadata`, `attachments`, `client_tools`, `if_busy`, `conversation_history`, `edit_message_id` |
         *     | `stop` | end all runs of a chat, and stop watching it | |
         *     | `pause` | end the run under way | |
         *     | `resume` | watch a chat or the runs of a document, or continue a run after `after` | `run_id`, `after` |
         *     | `approve` | the user's decision about a call that waits | `run_id`, `approval_id`, `approved`, `input` |
         *     | `tool_result` | the outcome of a tool of the page | `run_id`, `tool_use_id`, `output`, `is_error` |
         */
        SocketEvent: {
            /** @enum {string} */
            name: "message" | "chat_message" | "stop" | "pause" | "resume" | "approve" | "tool_result";
            /**
             * @description The client's name for the event. One chunk, `ack` or `error`, with this `event_id` answers an event that has
             *     an id. A message with the id of an earlier one attaches to the run that the earlier one started, as with an
             *     `Idempotency-Key`: a client that was cut off sends it again. Its socket gets the chunks of that run from the first
             *     one; other sockets do not get them again. A different message with the id of an earlier one is an `error`, also
             *     on another day: give each message an id that the user has not used before, such as a UUID.
             */
            id?: string;
            message?: components["schemas"]["SocketMessage"];
            model?: string;
            /** @enum {string} */
            mode?: "chat" | "agent";
            /** @description Where the answer goes; also several, comma separated. In the mode `agent` an answer goes to the chat, and a block of a document is what the message is about: the model reads it and changes it with its tools. In a chat the first one is the id of the answer. If another answer of the chat has that id, the new answer replaces it when it begins; while the other one is being written, the message waits for its turn */
            block_id?: string;
            block_ids?: string;
            /**
             * @description The document that the message is about; in the mode `chat`, which is the default with it, the answer goes into
             *     the document. Without a `chat_id` a message belongs to the chat whose `chat_id` is the document's id. That holds
             *     also while a run of another chat writes in the document: the message does not join that chat, but starts a run
             *     beside it. It waits for that run only if the run plans the document or writes a block that the message names
             */
            document_id?: string;
            chat_id?: string;
            /**
             * @description The authenticated user, if given: `ISSUER|SUBJECT`, as `user_id` in the response of `GET /api/me`. An event
             *     with a different one is refused with `forbidden`
             */
            user_id?: string;
            context?: components["schemas"]["Object"];
            interaction_type?: components["schemas"]["InteractionType"];
            action_metadata?: components["schemas"]["ActionMetadata"];
            attachments?: components["schemas"]["Attachment"][];
            /** @description Tools of the page that the model may call in this run */
            client_tools?: components["schemas"]["ClientTool"][];
            /**
             * @description What to do with a message while another run of the chat is under way, or one writes where its answer goes:
             *     refuse it with `busy`, wait until that run ends, or first cancel it and all messages that wait
             * @default queue
             * @enum {string}
             */
            if_busy?: "reject" | "queue" | "cancel";
            /** @description Used only for a new chat; they become its first messages */
            conversation_history?: components["schemas"]["HistoryMessage"][];
            /** @description A user message of this chat that this one replaces; without `attachments` it keeps the files */
            edit_message_id?: string;
            run_id?: string;
            /** Format: int64 */
            after?: number;
            approval_id?: string;
            approved?: boolean;
            /** @description An object that replaces the call's input; only an approval may have one */
            input?: unknown;
            tool_use_id?: string;
            /** @description Any JSON; a string is read by the model as it is */
            output?: unknown;
            is_error?: boolean;
        };
        SocketMessage: {
            content: string;
            /** @enum {string} */
            role?: "user";
        };
        /**
         * @description What the server sends over the websocket. By `type`:
         *
         *     | `type` | what | members of its own |
         *     | --- | --- | --- |
         *     | a block's type, as `md` | a piece of blocks; with `end` their end | `block_ids`, `document_id`, `content`, `end`, `new_doc`, `block_types` |
         *     | `reset` | what was sent for the blocks no longer counts; what follows is their content from its beginning: new text or, after a call that has failed, what waited for the user before; with `kept_through`, nor do all chunks of the run after that number; with `end` nothing more comes: what was written into the blocks is withdrawn, and they are as they were before, or gone | `block_ids`, `document_id`, `kept_through`, `end` |
         *     | `status` | a line for the status display; with an `approval_id` one that asks for the user's approval | `content`, `status_code`, `values`, `approval_id`, `reason` |
         *     | `tool` | a call: its `event` is `start`, `progress` or `complete` | `tool`, `tool_use_id`, `index`; `input`, `title`, `denied`; `stage`, `message`, `progress`, `data`, `block_ids`, `document_id`; `output`, `is_error`, `done` |
         *     | `approval_request` | a call waits for the user, until `expires_at` | `approval_id`, `tool`, `tool_use_id`, `index`, `input`, `message`, `title`, `description`, `reason`, `reason_text`, `expires_at` |
         *     | `approval_resolved` | it waits no longer | `approval_id`, `approved` |
         *     | `client_tool_call` | a call waits for the page, until `expires_at`; the start of its tool shows that it has been answered | `tool`, `tool_use_id`, `index`, `input`, `expires_at` |
         *     | `payload` | structured data for the page: of the call `tool_use_id` with the number `index` or, without `tool_use_id`, of the text before the call with that number. Calls end in any order; an answer's payloads are in the order of `index`, those of the text first | `payload`, `tool_use_id`, `index` |
         *     | `suggestions` | what the user may answer or do | `suggested_values`, `suggested_actions` |
         *     | `warning` | a sentence for the user about the answer | `content` |
         *     | `ack` | the event with this id has been taken | `event_id`, and what it was about |
         *     | `error` | why a run failed, or why an event is refused: without `end` if a run writes one of the blocks; `event_id`, `approval_id` and `tool_use_id` are those of the event | `content`, `code`, `block_ids`, `end`, `event_id` |
         *     | `run_end` | the last of a run | `run_id`, `status` |
         *
         *     A chunk of a run has a `seq`: with `resume` a client continues after it.
         *     The first chunk of a run carries the ids of run and chat. One without
         *     `run_id` is of the same run as the last one before it that had a
         *     `run_id` and a `seq`; `approval_request`, `client_tool_call` and
         *     `run_end` always have it. A client that resumes after a call that still waits gets that call again. One that resumes
         *     after the run's end gets everything but the content again. Neither changes anything twice.
         */
        Chunk: {
            type: string;
            block_ids?: string;
            document_id?: string;
            content?: string;
            end?: boolean;
            new_doc?: boolean;
            /** @description The types of the blocks of `new_doc`, in the order of `block_ids` */
            block_types?: string;
            code?: components["schemas"]["Code"];
            run_id?: string;
            chat_id?: string;
            /** Format: int64 */
            conversation_id?: number;
            message_id?: string;
            status?: components["schemas"]["RunState"];
            status_code?: components["schemas"]["StatusCode"];
            values?: components["schemas"]["StatusValues"];
            approval_id?: string;
            reason?: components["schemas"]["ApprovalReason"];
            /** @enum {string} */
            event?: "start" | "progress" | "complete";
            tool?: string;
            tool_use_id?: string;
            /** @description The number of the call in its run, from 0 */
            index?: number;
            /** @description The call's input; each string of a `tool` is cut after 16,000 characters */
            input?: unknown;
            title?: string;
            description?: string;
            reason_text?: string;
            message?: string;
            stage?: string;
            progress?: number;
            data?: unknown;
            /** @description Cut after 16,000 characters; whole at `GET /api/chat/runs/{run_id}/tools/{index}` */
            output?: string;
            is_error?: boolean;
            done?: string;
            /** @description The call does not run, as the user did not approve it; its `complete` follows */
            denied?: boolean;
            /** Format: date-time */
            expires_at?: string;
            approved?: boolean;
            payload?: components["schemas"]["CustomPayload"];
            suggested_values?: components["schemas"]["SuggestedValue"][];
            suggested_actions?: components["schemas"]["SuggestedAction"][];
            /** Format: int64 */
            kept_through?: number;
            event_id?: string;
            /** Format: int64 */
            seq?: number;
        };
        Ticket: {
            ticket: string;
            /** @description Seconds */
            expires_in: number;
        };
        BlockApply: {
            document_id: string;
            target_block_id?: string;
            after_block_id?: string;
        };
        /** @description An error outside of a stream (RFC 9457) */
        Problem: {
            /**
             * Format: uri-reference
             * @description Always `about:blank`; the `code` tells problems apart
             */
            type: string;
            title: string;
            status: number;
            /** @description A sentence for people */
            detail: string;
            code: components["schemas"]["Code"];
            /** @description Names the request in the log of the service */
            request_id: string;
            /** @description The run that is under way in a busy chat, or that failed */
            run_id?: string;
            /** @description What is wrong, and where; at most 20 */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description An invalid part of a body */
        FieldError: {
            /**
             * Format: json-pointer
             * @description RFC 6901; the empty one is the whole body
             */
            pointer: string;
            detail: string;
        };
    };
    responses: {
        /** @description What went wrong, as OpenAI's clients read it */
        OpenAIError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description The code of the error */
                "X-Error-Code"?: string;
                /** @description false if the client must not repeat the request by itself */
                "X-Should-Retry"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        /** @description The run's events, each with its number as its id */
        AGUIEvents: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Run-Id": components["headers"]["X-Run-Id"];
                [name: string]: unknown;
            };
            content: {
                "text/event-stream": string;
            };
        };
        /** @description The answer of the route that `method` stands for */
        CopilotKitAnswer: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Run-Id": components["headers"]["X-Run-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Object"];
                "text/event-stream": string;
            };
        };
        /** @description What went wrong */
        WireProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description What went wrong, as clients of the AI SDK show it */
        UIError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                /** @description The code of the error */
                "X-Error-Code"?: components["schemas"]["Code"];
                [name: string]: unknown;
            };
            content: {
                "text/plain": string;
            };
        };
        /** @description The run's events */
        Events: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "X-Run-Id": components["headers"]["X-Run-Id"];
                /** @description Where to follow or replay the run */
                "Content-Location"?: string;
                /** @description Proxies must not store or change the stream */
                "Cache-Control"?: "no-cache, no-transform";
                /** @description Proxies must not buffer the frames */
                "X-Accel-Buffering"?: "no";
                [name: string]: unknown;
            };
            content: {
                "text/event-stream": string;
            };
        };
        /** @description It is healthy */
        Healthy: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/plain": string;
            };
        };
        /** @description The body is not JSON or not the shape of this request, could not be read, or the query cannot be read */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No token, or an invalid one */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The user may not do this, or not from a page of this origin */
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The id is unknown, or belongs to another user */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body did not arrive in time */
        RequestTimeout: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Another run of the chat is under way, the run was cancelled, or the payload that an action accepts has been decided */
        Busy: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A run of the chat is under way, or the version cannot be selected */
        VersionConflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The id is in use */
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The user's data is being exported or deleted by another request, or more is stored than the `confirm` of a deletion says */
        DataInUse: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The payload was decided differently before */
        Decided: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A model is still writing the block, or a block of the document */
        BeingWritten: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It has been changed since it was read */
        Stale: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request has a cursor and does not name its run by an `Idempotency-Key` */
        KeyRequired: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
                "text/event-stream": string;
            };
        };
        /** @description The request has a cursor and does not name its run by an `Idempotency-Key` */
        PlainKeyRequired: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is not a message of the protocol */
        NoMessage: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": Record<string, unknown>;
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is too large, or the user has no room left for documents and attachments */
        TooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is not `application/json`, or it is compressed */
        UnsupportedMedia: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Without authentication, the service answers only under this machine's own names */
        Misdirected: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Well-formed, but not allowed */
        Invalid: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A limit of this user is reached */
        TooMany: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Something went wrong in the service */
        Internal: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The run failed at the model's service */
        Upstream: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The database cannot be reached, the token's key cannot be had from the identity provider now, or the service is about to stop */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /**
         * @description The response's id
         * @example resp_019ac0de000070008000000000000001_0
         */
        ResponseID: string;
        /**
         * @description The model's id
         * @example chattray
         */
        OpenAIModel: string;
        /**
         * @description The client's id of the chat
         * @example my-own-key
         */
        Thread: string;
        /**
         * @description `default`, or a page, which is then the `current_page`
         * @example default
         */
        Agent: string;
        /**
         * @description The client's id of the chat
         * @example my-own-key
         */
        ThreadOfAgent: string;
        /** @description The `context.current_page` if the body does not have it */
        WirePage: string;
        /** @description The `context.active_tab` if the body does not have it */
        WireTab: string;
        /** @description The `context.active_subtab` if the body does not have it */
        WireSubtab: string;
        /** @description The `model` if the body does not have it */
        WireModel: string;
        /** @description The `on_disconnect` if the body does not have it */
        WireOnDisconnect: string;
        /** @description The `if_busy` if the body does not have it */
        WireIfBusy: string;
        /** @description The client's major version, if the body does not have it */
        WireVersion: "5" | "6" | "7";
        /** @description A ticket in place of the token; see `POST /api/ws/ticket` */
        TicketQuery: string;
        /**
         * @description How the events are written
         * @example chat
         */
        Dialect: "chat" | "messages";
        /**
         * @description The same key with the same body attaches to the same run; with another body it is 422.
         * @example 5f2c1c9e
         */
        IdempotencyKey: string;
        /** @example 019ac0de-0000-7000-8000-000000000001 */
        RunID: string;
        /** @example 789 */
        ConversationID: number;
        /** @example abc12345 */
        PayloadID: string;
        /** @example doc1 */
        DocumentID: string;
        /**
         * @description A block of a document, or a message of a chat
         * @example b1
         */
        BlockID: string;
        /**
         * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
         * @example "7"
         */
        IfMatch: string;
        /**
         * @description The most items to return
         * @example 20
         */
        Limit: number;
        /**
         * @description The `next_cursor` of the page before; opaque to clients
         * @example Nzg5
         */
        Cursor: string;
    };
    requestBodies: never;
    headers: {
        /** @description Names the request in the service's log; an id of the client of 1 to 64 letters, digits, `-` and `_` is kept */
        "X-Request-Id": string;
        /** @description The revision, in quotes */
        ETag: string;
        /** @description The run */
        "X-Run-Id": string;
        /** @description Seconds to wait */
        "Retry-After": number;
        /** @description The authentication scheme to use */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    postStream: {
        parameters: {
            query?: {
                /**
                 * @description How the events are written
                 * @example chat
                 */
                dialect?: components["parameters"]["Dialect"];
            };
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The sequence number of the last event that the client has of the run with this `Idempotency-Key` */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            200: components["responses"]["Events"];
            /** @description The run of the `Idempotency-Key` has ended, and there is nothing after the cursor */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Busy"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            428: components["responses"]["KeyRequired"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postChat: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description The answer */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Run-Id": components["headers"]["X-Run-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatResponsePayload"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Busy"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            428: components["responses"]["PlainKeyRequired"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            502: components["responses"]["Upstream"];
            503: components["responses"]["Unavailable"];
        };
    };
    findRun: {
        parameters: {
            query: {
                /**
                 * @description The `Idempotency-Key` of the request that started it
                 * @example my-key-1
                 */
                idempotency_key: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run, or an empty list */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getStream: {
        parameters: {
            query?: {
                /** @description A ticket in place of the token; see `POST /api/ws/ticket` */
                ticket?: components["parameters"]["TicketQuery"];
                /**
                 * @description How the events are written
                 * @example chat
                 */
                dialect?: components["parameters"]["Dialect"];
                /**
                 * @description The sequence number of the last event that the client has
                 * @example 6
                 */
                after?: string;
            };
            header?: {
                /**
                 * @description The same as `after`, and takes precedence over it; an `EventSource` sends it by itself
                 * @example 6
                 */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Events"];
            /** @description There are no events after the cursor, and none will follow */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
                /**
                 * @description The `approval_id` of an `approval_request`
                 * @example 5f0c6d8e2b4a91c37e05d6f8
                 */
                approval_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApprovalAnswer"];
            };
        };
        responses: {
            /** @description The run */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postToolResult: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClientToolResult"];
            };
        };
        responses: {
            /** @description The run */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getWaits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The calls, in the order in which the model asked for them */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDiagnostics: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trace */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diagnostics"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getToolCall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
                /**
                 * @description The N of `[[tool:N]]`
                 * @example 0
                 */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tool call */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolCall"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listChats: {
        parameters: {
            query?: {
                /**
                 * @description The most items to return
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description The `next_cursor` of the page before; opaque to clients
                 * @example Nzg5
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description Text to find in titles and messages; case is ignored
                 * @example sickle
                 */
                q?: string;
                /**
                 * @description Lists the archived chats instead of the others
                 * @example false
                 */
                archived?: boolean;
                /**
                 * @description Lists the chats that began with `unlisted` instead of the others
                 * @example false
                 */
                unlisted?: boolean;
                /** @description Only the chat with this key; other filters are ignored. No chat if the key is unknown */
                chat_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of chats */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getChat: {
        parameters: {
            query?: {
                /**
                 * @description The most items to return
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description The `next_cursor` of the page before; opaque to clients
                 * @example Nzg5
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description Also returns messages that were edited or answered again
                 * @example true
                 */
                superseded?: boolean;
            };
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The chat */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Chat"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteChat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Busy"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    patchChat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatPatch"];
            };
        };
        responses: {
            /** @description The chat, without messages */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Chat"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportChat: {
        parameters: {
            query?: {
                /** @example markdown */
                format?: "markdown" | "json";
            };
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The chat */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /**
                     * @description A file name made from the title
                     * @example attachment; filename="CRISPR trials.md"
                     */
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example # CRISPR trials
                     *
                     *     ## You · 2026-11-21 10:00:00 UTC
                     *
                     *     Find recent trials
                     */
                    "text/markdown": string;
                    "application/json": components["schemas"]["Chat"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["DataInUse"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getPayload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /** @example abc12345 */
                payload_id: components["parameters"]["PayloadID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payload */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomPayload"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    resolvePayload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /** @example abc12345 */
                payload_id: components["parameters"]["PayloadID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Resolution"];
            };
        };
        responses: {
            /** @description The payload with its outcome */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomPayload"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Decided"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postFeedback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /**
                 * @description An assistant message of this chat
                 * @example 019ac0de-0000-7000-8000-00000000000b
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Feedback"];
            };
        };
        responses: {
            /** @description The message with the rating */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteFeedback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /**
                 * @description An assistant message of this chat
                 * @example 019ac0de-0000-7000-8000-00000000000b
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer has no rating */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getVersions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /**
                 * @description A message of this chat
                 * @example 019ac0de-0000-7000-8000-00000000000b
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    selectVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 789 */
                conversation_id: components["parameters"]["ConversationID"];
                /**
                 * @description A message of this chat
                 * @example 019ac0de-0000-7000-8000-00000000000b
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The chat with its newest messages */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Chat"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["VersionConflict"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDocuments: {
        parameters: {
            query?: {
                /**
                 * @description The most items to return
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description The `next_cursor` of the page before; opaque to clients
                 * @example Nzg5
                 */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of documents, without their blocks */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postDocument: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentCreate"];
            };
        };
        responses: {
            /** @description The document */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDocument: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    patchDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentPatch"];
            };
        };
        responses: {
            /** @description The document without its blocks */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockCreate"];
            };
        };
        responses: {
            /** @description The block */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    acceptDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["BeingWritten"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    revertDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    rejectDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDocumentVersions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVersionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDocumentVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
                /**
                 * @description The revision of the document that names the version
                 * @example 6
                 */
                revision: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document as it was */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    restoreDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
                /**
                 * @description The revision of the document that names the version
                 * @example 6
                 */
                revision: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Document"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportDocument: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example doc1 */
                document_id: components["parameters"]["DocumentID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A file */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description Names the file after the title */
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/markdown": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getBlock: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    patchBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockPatch"];
            };
        };
        responses: {
            /** @description The block as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    acceptBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            /** @description The block no longer exists */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["BeingWritten"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    revertBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            /** @description The block no longer exists */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    rejectBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            /** @description The block no longer exists */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    applyBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` of the changed resource when it was read; 412 if it has changed since. A weak one, `W/"7"`, never matches (RFC 9110): behind a proxy that makes it weak when it compresses answers, send the resource's `revision` in quotes
                 * @example "7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description A block of a document, or a message of a chat
                 * @example b1
                 */
                block_id: components["parameters"]["BlockID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockApply"];
            };
        };
        responses: {
            /** @description The block of the document */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["Stale"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listPages: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pages */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
        };
    };
    getPage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of a page, or an alias
                 * @example edit_research_stream
                 */
                page: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
        };
    };
    listTools: {
        parameters: {
            query?: {
                /** @example reports */
                page?: string;
                /** @example articles */
                tab?: string;
                /** @example details */
                subtab?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tools */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMyData: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How much there is */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSize"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteMyData: {
        parameters: {
            query?: {
                /**
                 * @description The `confirm` of `GET /api/me/data`
                 * @example 12-340-3
                 */
                confirm?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How much was deleted */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSize"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["DataInUse"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportMyData: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user's data */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /**
                     * @description A file name
                     * @example attachment; filename=chattray.jsonl
                     */
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {"kind":"user","data":{"user_id":"https://id.example|alice","name":"alice","roles":[]}}
                     *     {"kind":"end","data":{"lines":1}}
                     */
                    "application/jsonl": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["DataInUse"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /**
                 * @description The first day; 29 days before the last one when absent
                 * @example 2026-11-01
                 */
                from?: string;
                /**
                 * @description The last day, at most a year after the first; today when absent
                 * @example 2026-11-21
                 */
                to?: string;
                /**
                 * @description The id of the user, the caller when absent; only admins may ask about others
                 * @example https://id.example|alice
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was used */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listStreams: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The streams */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getResearchStream: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                stream_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stream"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    putResearchStream: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                stream_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StreamUpdate"];
            };
        };
        responses: {
            /** @description The stream as it is now */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stream"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listReports: {
        parameters: {
            query?: {
                /**
                 * @description Only the reports of this stream
                 * @example 1
                 */
                stream_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reports, without their articles */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getReport: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                report_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSocket: {
        parameters: {
            query?: {
                /** @description A ticket in place of the token; see `POST /api/ws/ticket` */
                ticket?: components["parameters"]["TicketQuery"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connection is a websocket */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postTicket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ticket */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    mcp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, unknown>;
            };
        };
        responses: {
            /** @description The answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                    "text/event-stream": string;
                };
            };
            /** @description The notification was accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["NoMessage"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The method is unknown (404 only in the newest version of the protocol) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getResource: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        resource: string;
                        authorization_servers: string[];
                        bearer_methods_supported: string[];
                        resource_name: string;
                    };
                };
            };
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
        };
    };
    getMCPResource: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        resource: string;
                        authorization_servers: string[];
                        bearer_methods_supported: string[];
                        resource_name: string;
                    };
                };
            };
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
        };
    };
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Healthy"];
            421: components["responses"]["Misdirected"];
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It takes requests */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            421: components["responses"]["Misdirected"];
            503: components["responses"]["Unavailable"];
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The figures in Prometheus' text format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            421: components["responses"]["Misdirected"];
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The contract */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/yaml": string;
                };
            };
            421: components["responses"]["Misdirected"];
        };
    };
    page: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
            412: components["responses"]["Stale"];
            421: components["responses"]["Misdirected"];
        };
    };
    playground: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
            412: components["responses"]["Stale"];
            421: components["responses"]["Misdirected"];
        };
    };
    adminPage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
            412: components["responses"]["Stale"];
            421: components["responses"]["Misdirected"];
        };
    };
    adminRuns: {
        parameters: {
            query?: {
                /** @description Only runs in this state */
                state?: components["schemas"]["RunState"];
                /** @description The id of a user */
                user?: string;
                /** @description A page that the service has */
                page?: string;
                /** @description The model that answered */
                model?: string;
                /**
                 * @description The code of the error that ended them
                 * @example upstream_error
                 */
                error?: string;
                /**
                 * @description The first day on which they began (UTC)
                 * @example 2026-11-01
                 */
                from?: string;
                /**
                 * @description The last such day
                 * @example 2026-11-21
                 */
                to?: string;
                /**
                 * @description The most items to return
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description The `next_cursor` of the page before; opaque to clients
                 * @example Nzg5
                 */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs of all users */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminRunList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    adminTimeline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What a run did over time */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminTimeline"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    adminEvents: {
        parameters: {
            query?: {
                /** @description The number to continue after */
                after?: number;
                /**
                 * @description The most items to return
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events of a run */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminEventList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    adminDiagnostics: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 019ac0de-0000-7000-8000-000000000001 */
                run_id: components["parameters"]["RunID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trace of a run of any user */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diagnostics"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    adminStats: {
        parameters: {
            query?: {
                /**
                 * @description The first day; 29 days before the last one when absent
                 * @example 2026-11-01
                 */
                from?: string;
                /**
                 * @description The last day, at most a year after the first; today when absent
                 * @example 2026-11-21
                 */
                to?: string;
                /** @description How many models, pages, users and errors, the first by cost; 10 when absent or 0 */
                top?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Usage, cost, errors and fallbacks of all users */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminStats"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    adminReplicas: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The processes that serve the database */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminReplicaList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    adminMCPServers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The MCP servers */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminMCPServerList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    postUI: {
        parameters: {
            query?: {
                /** @description The `context.current_page` if the body does not have it */
                page?: components["parameters"]["WirePage"];
                /** @description The `context.active_tab` if the body does not have it */
                tab?: components["parameters"]["WireTab"];
                /** @description The `context.active_subtab` if the body does not have it */
                subtab?: components["parameters"]["WireSubtab"];
                /** @description The `model` if the body does not have it */
                model?: components["parameters"]["WireModel"];
                /** @description The `on_disconnect` if the body does not have it */
                on_disconnect?: components["parameters"]["WireOnDisconnect"];
                /** @description The `if_busy` if the body does not have it */
                if_busy?: components["parameters"]["WireIfBusy"];
                /** @description The client's major version, if the body does not have it */
                ai?: components["parameters"]["WireVersion"];
            };
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            /** @description The UI message stream */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Run-Id": components["headers"]["X-Run-Id"];
                    /** @description v1 */
                    "x-vercel-ai-ui-message-stream"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            "4XX": components["responses"]["UIError"];
            "5XX": components["responses"]["UIError"];
        };
    };
    resumeUI: {
        parameters: {
            query?: {
                /** @description The client's major version, if the body does not have it */
                ai?: components["parameters"]["WireVersion"];
            };
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                id: components["parameters"]["Thread"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The UI message stream */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Run-Id": components["headers"]["X-Run-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The chat has no run under way */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["UIError"];
            "5XX": components["responses"]["UIError"];
        };
    };
    stopUI: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                id: components["parameters"]["Thread"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether a run was cancelled */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        stopped: boolean;
                    };
                };
            };
            "4XX": components["responses"]["UIError"];
            "5XX": components["responses"]["UIError"];
        };
    };
    getUIMessages: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                id: components["parameters"]["Thread"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of messages, in order; an unknown chat has none */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        messages: components["schemas"]["Object"][];
                        next_cursor?: string;
                    };
                };
            };
            "4XX": components["responses"]["UIError"];
            "5XX": components["responses"]["UIError"];
        };
    };
    postChatCompletion: {
        parameters: {
            query?: {
                /** @description The `context.current_page` if the body does not have it */
                page?: components["parameters"]["WirePage"];
                /** @description The `context.active_tab` if the body does not have it */
                tab?: components["parameters"]["WireTab"];
                /** @description The `context.active_subtab` if the body does not have it */
                subtab?: components["parameters"]["WireSubtab"];
                /** @description The `model` if the body does not have it */
                model?: components["parameters"]["WireModel"];
                /** @description The `on_disconnect` if the body does not have it */
                on_disconnect?: components["parameters"]["WireOnDisconnect"];
                /** @description The `if_busy` if the body does not have it */
                if_busy?: components["parameters"]["WireIfBusy"];
            };
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The client's id of the chat, if `metadata.chat_id` does not name it */
                "X-Chattray-Chat-Id"?: string;
                /** @description The same, as Open WebUI sends it */
                "X-OpenWebUI-Chat-Id"?: string;
                /** @description A request of Open WebUI itself, for a title or for tags, which stands alone */
                "X-OpenWebUI-Task"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            /** @description Chunks with `stream`, else one chat completion */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Run-Id": components["headers"]["X-Run-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    listOpenAIModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All models */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    getOpenAIModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The model's id
                 * @example chattray
                 */
                id: components["parameters"]["OpenAIModel"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The model */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    getOpenAIPageModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The model's id
                 * @example chattray
                 */
                id: components["parameters"]["OpenAIModel"];
                /**
                 * @description The part of the model's id after the slash, from clients that do not escape it
                 * @example streams
                 */
                page: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The model */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    getAGUI: {
        parameters: {
            query?: {
                /** @description The run; a client's `runId` of fewer than 16 characters needs `threadId` too */
                runId?: string;
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                threadId?: string;
                /** @description No effect; a run is read from its beginning, or after the `Last-Event-ID` */
                offset?: string;
                limit?: number;
                /** @description The `page.cursor` of the page before */
                before?: string;
            };
            header?: {
                /** @description The number of the last event that the client has; the stream continues after it */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, or what the thread has */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    postAGUI: {
        parameters: {
            query?: {
                /** @description The `context.current_page` if the body does not have it */
                page?: components["parameters"]["WirePage"];
                /** @description The `context.active_tab` if the body does not have it */
                tab?: components["parameters"]["WireTab"];
                /** @description The `context.active_subtab` if the body does not have it */
                subtab?: components["parameters"]["WireSubtab"];
                /** @description The `model` if the body does not have it */
                model?: components["parameters"]["WireModel"];
                /** @description The `on_disconnect` if the body does not have it */
                on_disconnect?: components["parameters"]["WireOnDisconnect"];
                /** @description The `if_busy` if the body does not have it */
                if_busy?: components["parameters"]["WireIfBusy"];
            };
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The number of the last event that the client has; the stream continues after it */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            200: components["responses"]["AGUIEvents"];
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    stopAGUI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            /** @description Whether a run was cancelled */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        stopped: boolean;
                        message?: string;
                    };
                };
            };
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    callCopilotKit: {
        parameters: {
            query?: {
                /** @description The `context.current_page` if the body does not have it */
                page?: components["parameters"]["WirePage"];
                /** @description The `context.active_tab` if the body does not have it */
                tab?: components["parameters"]["WireTab"];
                /** @description The `context.active_subtab` if the body does not have it */
                subtab?: components["parameters"]["WireSubtab"];
                /** @description The `model` if the body does not have it */
                model?: components["parameters"]["WireModel"];
                /** @description The `on_disconnect` if the body does not have it */
                on_disconnect?: components["parameters"]["WireOnDisconnect"];
                /** @description The `if_busy` if the body does not have it */
                if_busy?: components["parameters"]["WireIfBusy"];
            };
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The number of the last event that the client has; the stream continues after it */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            200: components["responses"]["CopilotKitAnswer"];
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    getCopilotKitInfo: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent `default`, and one for each page */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    runCopilotKit: {
        parameters: {
            query?: {
                /** @description The `context.current_page` if the body does not have it */
                page?: components["parameters"]["WirePage"];
                /** @description The `context.active_tab` if the body does not have it */
                tab?: components["parameters"]["WireTab"];
                /** @description The `context.active_subtab` if the body does not have it */
                subtab?: components["parameters"]["WireSubtab"];
                /** @description The `model` if the body does not have it */
                model?: components["parameters"]["WireModel"];
                /** @description The `on_disconnect` if the body does not have it */
                on_disconnect?: components["parameters"]["WireOnDisconnect"];
                /** @description The `if_busy` if the body does not have it */
                if_busy?: components["parameters"]["WireIfBusy"];
            };
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The number of the last event that the client has; the stream continues after it */
                "Last-Event-ID"?: string;
            };
            path: {
                /**
                 * @description `default`, or a page, which is then the `current_page`
                 * @example default
                 */
                agent: components["parameters"]["Agent"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            200: components["responses"]["AGUIEvents"];
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    connectCopilotKit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `default`, or a page, which is then the `current_page`
                 * @example default
                 */
                agent: components["parameters"]["Agent"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            200: components["responses"]["AGUIEvents"];
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    stopCopilotKit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `default`, or a page, which is then the `current_page`
                 * @example default
                 */
                agent: components["parameters"]["Agent"];
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                thread: components["parameters"]["ThreadOfAgent"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            /** @description Whether a run was cancelled */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        stopped: boolean;
                        message?: string;
                    };
                };
            };
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    listCopilotKitThreads: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `nextCursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of chats */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    getCopilotKitMessages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The client's id of the chat
                 * @example my-own-key
                 */
                thread: components["parameters"]["ThreadOfAgent"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The messages */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["WireProblem"];
            "5XX": components["responses"]["WireProblem"];
        };
    };
    postResponse: {
        parameters: {
            query?: {
                /** @description The `context.current_page` if the body does not have it */
                page?: components["parameters"]["WirePage"];
                /** @description The `context.active_tab` if the body does not have it */
                tab?: components["parameters"]["WireTab"];
                /** @description The `context.active_subtab` if the body does not have it */
                subtab?: components["parameters"]["WireSubtab"];
                /** @description The `model` if the body does not have it */
                model?: components["parameters"]["WireModel"];
                /** @description The `on_disconnect` if the body does not have it */
                on_disconnect?: components["parameters"]["WireOnDisconnect"];
                /** @description The `if_busy` if the body does not have it */
                if_busy?: components["parameters"]["WireIfBusy"];
            };
            header?: {
                /**
                 * @description The same key with the same body attaches to the same run; with another body it is 422.
                 * @example 5f2c1c9e
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Object"];
            };
        };
        responses: {
            /** @description Events with `stream`, else the response */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Run-Id": components["headers"]["X-Run-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    getResponse: {
        parameters: {
            query?: {
                /** @description true returns the events, and follows the run while it is under way; the default is true with `starting_after`, else false */
                stream?: string;
                /** @description The `sequence_number` after which the events are sent; 0 sends all of them */
                starting_after?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The response's id
                 * @example resp_019ac0de000070008000000000000001_0
                 */
                id: components["parameters"]["ResponseID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The response, or its events */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Run-Id": components["headers"]["X-Run-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    deleteResponse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The response's id
                 * @example resp_019ac0de000070008000000000000001_0
                 */
                id: components["parameters"]["ResponseID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    cancelResponse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The response's id
                 * @example resp_019ac0de000070008000000000000001_0
                 */
                id: components["parameters"]["ResponseID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The response */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "X-Run-Id": components["headers"]["X-Run-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
    listResponseInput: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The response's id
                 * @example resp_019ac0de000070008000000000000001_0
                 */
                id: components["parameters"]["ResponseID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A list of one message */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Object"];
                };
            };
            "4XX": components["responses"]["OpenAIError"];
            "5XX": components["responses"]["OpenAIError"];
        };
    };
}
