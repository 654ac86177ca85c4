//! The tools, by tower-mcp's builder: typed handlers, with schemas from the types.

use bench_program::offer::{self, Blob, Echo, Length, Ordering, Place, STEPS, Weather};
use tower_mcp::extract::Context;
use tower_mcp::{CallToolResult, McpRouter, Tool, ToolBuilder};

/// The five tools and as many numbered ones.
pub fn router(numbered: usize) -> McpRouter {
    McpRouter::new()
        .server_info("tower-mcp-bench", "1.0.0")
        .tools([echo(), steps(), blob(), length(), weather()])
        .tools((0..numbered).map(ordered))
}

fn echo() -> Tool {
    ToolBuilder::new("echo")
        .description("Sends the message back")
        .handler(|input: Echo| async move { Ok(CallToolResult::text(input.message)) })
        .build()
}

fn steps() -> Tool {
    ToolBuilder::new("steps")
        .description("Reports ten steps of progress")
        .extractor_handler((), |context: Context| async move {
            for step in 1..=STEPS {
                context.report_progress(step.into(), Some(STEPS.into()), None).await;
            }
            Ok(CallToolResult::text("done"))
        })
        .build()
}

fn blob() -> Tool {
    ToolBuilder::new("blob")
        .description("Sends as many bytes as are asked for")
        .handler(|input: Blob| async move { Ok(CallToolResult::text(offer::blob(input))) })
        .build()
}

fn length() -> Tool {
    ToolBuilder::new("length")
        .description("Says how many bytes the text has")
        .handler(|input: Length| async move { Ok(CallToolResult::text(input.text.len().to_string())) })
        .build()
}

fn weather() -> Tool {
    ToolBuilder::new("weather")
        .description("Tells the weather of a city")
        .output_schema_for::<Weather>()
        .handler(|place: Place| async move { CallToolResult::from_serialize(&offer::weather(place)) })
        .build()
}

fn ordered(number: usize) -> Tool {
    let (name, description) = offer::numbered(number);
    ToolBuilder::new(name)
        .description(description)
        .handler(|_: Ordering| async { Ok(CallToolResult::text("ordered")) })
        .build()
}
