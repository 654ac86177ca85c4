//! Tools that say something on the way: log messages, progress; and one that hangs up.

use std::time::Duration;

use contexture::model::LoggingLevel;
use contexture::{Context, Server, tool};

/// Between two signals, so that each has to travel by itself.
const PAUSE: Duration = Duration::from_millis(50);
/// When a client that was let go comes back.
const COME_BACK: Duration = Duration::from_millis(500);

pub(super) fn register(server: Server) -> Server {
    server
        .tool(
            tool("test_tool_with_logging")
                .description("Logs three messages while it works.")
                .handler(|context: Context| async move { logs(&context).await }),
        )
        .tool(
            tool("test_logging_tool")
                .description("Logs, if the request asks for it.")
                .handler(|context: Context| async move { logs_once(&context) }),
        )
        .tool(
            tool("test_tool_with_progress")
                .description("Reports progress three times while it works.")
                .handler(|context: Context| async move { progresses(&context).await }),
        )
        .tool(
            tool("test_reconnection")
                .description("Lets go of the connection before it answers.")
                .handler(|context: Context| async move { hangs_up(&context).await }),
        )
}

async fn logs(context: &Context) -> &'static str {
    context.log(LoggingLevel::Info, "Tool execution started");
    tokio::time::sleep(PAUSE).await;
    context.log(LoggingLevel::Info, "Tool processing data");
    tokio::time::sleep(PAUSE).await;
    context.log(LoggingLevel::Info, "Tool execution completed");
    "Logged three messages."
}

fn logs_once(context: &Context) -> &'static str {
    context.log(LoggingLevel::Info, "Heard only by those who asked for it");
    "Logged, if somebody listens."
}

async fn progresses(context: &Context) -> &'static str {
    context.progress(0.0, Some(100.0));
    tokio::time::sleep(PAUSE).await;
    context.progress(50.0, Some(100.0));
    tokio::time::sleep(PAUSE).await;
    context.progress(100.0, Some(100.0));
    "Reported progress three times."
}

async fn hangs_up(context: &Context) -> &'static str {
    context.hang_up(COME_BACK);
    tokio::time::sleep(PAUSE).await;
    "Answered after the connection was given up."
}
