//! One store, several processes: some of them die.

use contexture::Result;
use contexture::auth::{FileStore, TokenStore};

use crate::parts::{COUNTS, Player, SHARED};
use crate::{Folder, access, key, stored};

/// What two processes do under the lock is done one after the other; a lost update would be missing in the
/// sum. So it is with refreshes.
#[tokio::test]
async fn processes_take_turns_under_the_lock() -> Result<()> {
    let folder = Folder::new();
    let store = FileStore::at(folder.tokens());
    store.save(&key(SHARED), &stored("0")).await?;
    let players = [(); 2].map(|()| Player::start("count", &folder.tokens()));
    players.into_iter().for_each(Player::ends_well);
    assert_eq!(access(store.load(&key(SHARED)).await?), Some((2 * COUNTS).to_string()));
    Ok(())
}

/// Also the first ones, which have to agree on a key: an entry under another would not be listed.
#[tokio::test]
async fn processes_that_begin_at_once_agree_on_one_key() -> Result<()> {
    for _ in 0..5 {
        let folder = Folder::new();
        let players = [(); 3].map(|()| Player::start("save", &folder.tokens()));
        players.into_iter().for_each(Player::ends_well);
        assert_eq!(FileStore::at(folder.tokens()).list().await?.len(), 3);
    }
    Ok(())
}

/// Whoever reads sees one whole entry, however often and by however many it is replaced, and also after
/// they were killed in the middle of it.
#[tokio::test]
async fn an_entry_is_whole_at_every_moment_and_after_every_crash() -> Result<()> {
    let folder = Folder::new();
    let store = FileStore::at(folder.tokens());
    store.save(&key(SHARED), &stored("aaaaaaaaaa")).await?;
    for reads in [1, 10, 40, 80] {
        let mut players = [(); 2].map(|()| Player::start("write", &folder.tokens()));
        players.iter_mut().for_each(|player| drop(player.says("writing")));
        for _ in 0..reads {
            let text = access(store.load(&key(SHARED)).await?).expect("it is there");
            assert!(
                matches!((text.len(), text.as_bytes()[0]), (10, b'a') | (50_000, b'b')),
                "{}",
                text.len()
            );
        }
        players.into_iter().for_each(Player::kill);
        assert!(access(store.load(&key(SHARED)).await?).is_some());
        store.save(&key(SHARED), &stored("aaaaaaaaaa")).await?;
        assert!(folder.files(".draft").is_empty(), "what a crash left is cleared away");
    }
    Ok(())
}

#[tokio::test]
async fn a_lock_ends_with_the_process_that_holds_it() -> Result<()> {
    let folder = Folder::new();
    let store = FileStore::at(folder.tokens());
    let mut holder = Player::start("hold", &folder.tokens());
    holder.says("holding");
    let key = key(SHARED);
    let mut waiting = Box::pin(store.lock(&key));
    assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none(), "two hold the lock");
    holder.kill();
    let _held = waiting.await?;
    Ok(())
}

/// As on a full disk: not a byte can be written.
#[tokio::test]
async fn without_room_the_old_entry_stays_and_the_error_says_what_to_do() -> Result<()> {
    let folder = Folder::new();
    FileStore::at(folder.tokens()).save(&key(SHARED), &stored("old")).await?;
    let mut player = Player::without_room("no room", &folder.tokens());
    let words = player.says("said ");
    assert!(words.contains("make room") && words.contains("still there"), "{words}");
    assert_eq!(player.says("kept "), "old");
    player.ends_well();
    assert!(folder.files(".draft").is_empty(), "what does not fit is not left behind");
    Ok(())
}
