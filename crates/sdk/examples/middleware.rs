//! Layers: what happens around every operation, whatever it is and whoever asks.

use std::time::{Duration, Instant};

use contexture::model::ErrorObject;
use contexture::server::layers::{around, rate_limit, timeout};
use contexture::server::{Reply, Request};
use contexture::{Server, tool};

/// Says the same again.
#[tool(read_only)]
async fn echo(message: String) -> String {
    message
}

/// Takes its time.
#[tool]
async fn wait(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::main]
async fn main() -> contexture::Result<()> {
    // The layer that was added last sees operations first.
    Server::new("guarded", "1.0.0")
        .tool(echo)
        .tool(wait)
        .layer(timeout(Duration::from_millis(200)))
        .layer(rate_limit(100))
        .layer(around(|operation, next| async move {
            if let Request::CallTool { arguments: Some(arguments), .. } = &operation.request
                && arguments.get().contains("secret")
            {
                return Err(ErrorObject::invalid_params("not in this house"));
            }
            let started = Instant::now();
            let mut reply = next.call(operation).await;
            if let Ok(Reply::Tool(result)) = &mut reply {
                eprintln!("answered in {:?}, failed: {}", started.elapsed(), result.is_error);
            }
            reply
        }))
        .serve_stdio()
        .await
}
