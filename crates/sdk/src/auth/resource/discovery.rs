//! What an issuer says about itself.

use crate::auth::canonical::server_metadata_urls;
use crate::auth::metadata::ServerMetadata;
use crate::auth::outbound::Outbound;

/// The metadata of an issuer, from the first place where it is.
///
/// # Errors
/// For the log: why there is none.
pub(super) async fn metadata(outbound: &Outbound, issuer: &str) -> Result<ServerMetadata, String> {
    let mut why = format!("{issuer} cannot be an issuer");
    for url in server_metadata_urls(issuer) {
        match outbound.get_json::<ServerMetadata>(&url, &[]).await {
            // Whoever answers for another issuer may be anybody.
            Ok(metadata) if metadata.issuer != issuer => {
                why = format!("{url} is about another issuer than {issuer}");
            }
            Ok(metadata) => return Ok(metadata),
            Err(error) => why = format!("{url}: {error}"),
        }
    }
    Err(why)
}
