//! `vramscope mcp`: the questions as tools of the Model Context Protocol, over standard input and output.
//!
//! The tools are this program's own commands with `--json`. Answers are bounded, since agents pay for each line.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _, transport};
use serde_json::{Map, Value, json};

use crate::commands::brief;
use crate::failure::Failure;
use crate::opened::Opened;

/// The longest answer, in bytes.
const MOST_BYTES: usize = 16 << 10;

/// Rows per table in the first try; fewer where the answer is too long.
const ROWS: u64 = 10;

/// The commands that `question` puts.
const QUESTIONS: [&str; 9] = [
    "oom",
    "leaks",
    "fragmentation",
    "what-if",
    "peak",
    "at",
    "find",
    "diff",
    "info",
];

/// Answer an agent's questions over the Model Context Protocol, on standard input and output
///
/// Two tools: `brief`, one answer of 4 KiB on what failed or peaked, why and where; and `question`, which puts one of this
/// program's commands with bounded tables. Files are only read.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {}

const EXAMPLES: &str = "\
Examples:
  claude mcp add vramscope -- vramscope mcp";

pub(crate) fn run(_: &Options) -> Result<(), Failure> {
    let failed = || Failure::io("cannot serve on standard input and output");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(failed())?;
    runtime.block_on(async {
        let served = Server.serve(transport::stdio()).await;
        match served {
            Ok(running) => {
                // It ends with its input.
                drop(running.waiting().await);
                Ok(())
            }
            Err(error) => Err(Failure::Input(format!(
                "no client spoke the protocol: {error}"
            ))),
        }
    })
}

struct Server;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("vramscope", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(
            "Answers questions about GPU memory from PyTorch CUDA memory snapshots. Begin with `brief`. Opening a snapshot here is \
             safe; never unpickle one with Python, which runs whatever the file says."
                .to_owned(),
        );
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answer = tokio::task::spawn_blocking(move || called(&request.name, &arguments)).await;
        let result = match answer
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?
        {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(failure) => CallToolResult::error(vec![ContentBlock::text(failure.to_string())]),
        };
        Ok(result.into())
    }
}

fn tools() -> Vec<Tool> {
    let files = json!({
        "type": "array", "items": {"type": "string"}, "minItems": 1,
        "description": "Paths of snapshots, or of folders with one snapshot per rank"
    });
    let brief = json!({
        "type": "object",
        "properties": {
            "files": files,
            "budget_bytes": {"type": "integer", "minimum": 1024, "default": 4096, "description": "Longest answer"}
        },
        "required": ["files"]
    });
    let question = json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": QUESTIONS},
            "arguments": {
                "type": "array", "items": {"type": "string"},
                "description": "As on the command line, without the files: options, and of `at` a moment such as `peak` or `1234`, of `find` a filter such as `site=\"train.py:10 step\" live@peak`"
            },
            "files": files,
            "rows": {"type": "integer", "minimum": 1, "default": ROWS, "description": "Rows per table; fewer if the answer would be longer than 16 KiB"}
        },
        "required": ["command", "files"]
    });
    vec![
        tool(
            "brief",
            "What failed or peaked, why, where, and what would help, in one bounded answer. Begin here: `next` in the answer has the commands that tell more.",
            brief,
        ),
        tool(
            "question",
            "One of vramscope's commands as JSON: those that `next` of `brief` names.",
            question,
        ),
    ]
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(name, description, Arc::new(schema))
}

fn called(name: &str, arguments: &Map<String, Value>) -> Result<String, Failure> {
    let words = |key: &str| -> Vec<String> {
        let words = arguments
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        words.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
    let files: Vec<PathBuf> = words("files").into_iter().map(PathBuf::from).collect();
    if files.is_empty() {
        return Err(Failure::Usage("`files` names no file".to_owned()));
    }
    match name {
        "brief" => brief::json(&files, number("budget_bytes").unwrap_or(brief::USUAL_BYTES)),
        "question" => {
            let command = arguments
                .get("command")
                .and_then(Value::as_str)
                .unwrap_or_default();
            question(
                command,
                &words("arguments"),
                &files,
                number("rows").unwrap_or(ROWS),
            )
        }
        other => Err(Failure::Usage(format!(
            "there is no tool {other}: there are brief and question"
        ))),
    }
}

/// Puts a command to the files, with as many rows as the answer's length allows.
fn question(
    command: &str,
    words: &[String],
    files: &[PathBuf],
    rows: u64,
) -> Result<String, Failure> {
    if !QUESTIONS.contains(&command) {
        return Err(Failure::Usage(format!(
            "`command` is one of {}",
            QUESTIONS.join(", ")
        )));
    }
    let files = crate::inputs::files(files)?;
    let open = |file: &PathBuf| Opened::file(Path::new(file), &mut |_| ControlFlow::Continue(()));
    let opened = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let (first, others) = opened
        .split_first()
        .ok_or_else(|| Failure::Usage("`files` names no file".to_owned()))?;
    let mut rows = rows.max(1);
    loop {
        let limit = ["--limit".to_owned(), rows.to_string()];
        let limit = limit
            .into_iter()
            .filter(|_| !words.iter().any(|word| word.starts_with("--limit")));
        let asked = [command.to_owned()]
            .into_iter()
            .chain(words.iter().cloned())
            .chain(limit);
        let asked: Vec<String> = asked.chain(["--".to_owned()]).collect();
        let answer = first.ask(others, &asked)?;
        // What is written for people is indented.
        let answer: Value =
            serde_json::from_slice(&answer).map_err(|error| Failure::Input(error.to_string()))?;
        let text = answer.to_string();
        if text.len() <= MOST_BYTES {
            return Ok(text);
        }
        if rows == 1 || words.iter().any(|word| word.starts_with("--limit")) {
            return Err(Failure::Usage(format!(
                "the answer has {} bytes, more than {MOST_BYTES}: ask about fewer files, or with a narrower filter",
                text.len()
            )));
        }
        rows /= 2;
    }
}
