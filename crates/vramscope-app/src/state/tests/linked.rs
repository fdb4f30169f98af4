//! The question before many or large files of the page's address.

use super::*;

const GIB: u64 = 1 << 30;

fn progress(page: &mut Page, id: u32, done_bytes: u64, total_bytes: Option<u64>) {
    page.reply(
        id,
        Reply::Progress(Progress {
            done_bytes,
            total_bytes,
            ..Progress::default()
        }),
    );
}

#[test]
fn many_files_are_asked_for_before_any_is_opened() {
    let mut page = Page(Rc::new(State::default()));
    assert_eq!(page.0.question(), None);
    let hosts = ["a.example", "b.example", "c.example:1", "d.example"];
    let hosts = (0..300).map(|file| hosts[file % 4].to_owned()).collect();
    page.act(Action::Offer(hosts));
    let question = page.0.question().unwrap();
    assert_eq!(question.title(), "Open 300 files?");
    assert_eq!(
        question.text(),
        "The link to this page names 300 files on a.example, b.example, c.example:1 and another host. \
         Their sizes are not known yet."
    );
    page.act(Action::Offer(Vec::new()));
    assert_eq!(page.0.question(), None);
}

#[test]
fn large_files_are_asked_for_by_what_is_told_or_has_come() {
    let mut page = Page(Rc::new(State::default()));
    page.open_linked(1, "a", Some("a.example"));
    page.open_linked(2, "a", Some("a.example"));
    // A file that the user chose does not count.
    page.open(3, "a");
    progress(&mut page, 1, 1, Some(GIB));
    progress(&mut page, 2, GIB, None);
    progress(&mut page, 3, GIB, Some(8 * GIB));
    assert_eq!(page.0.question(), None);
    progress(&mut page, 2, GIB + 1, None);
    let question = page.0.question().unwrap();
    assert_eq!(
        [question.title(), question.text()],
        [
            "Download 2.00 GiB?",
            "The link to this page names 2 files on a.example. At least 2.00 GiB would be downloaded and kept in memory."
        ]
    );
    let held: Vec<_> = page.0.linked_downloads().collect();
    assert_eq!(held, [SessionId(1), SessionId(2)]);
    page.act(Action::AllowLarge);
    assert_eq!(page.0.question(), None);
}

#[test]
fn what_is_downloaded_is_asked_about_no_more() {
    let mut page = Page(Rc::new(State::default()));
    page.open_linked(1, "a", Some("a.example"));
    progress(&mut page, 1, 0, Some(3 * GIB));
    assert!(page.0.question().is_some());
    page.reply(
        1,
        Reply::Progress(Progress {
            stage: vramscope_protocol::Stage::Reading,
            total_bytes: Some(3 * GIB),
            ..Progress::default()
        }),
    );
    assert_eq!(page.0.question(), None);
    page.open_linked(2, "a", Some("b.example"));
    assert!(page.0.question().is_some());
    page.act(Action::Close(SessionId(2)));
    assert_eq!(page.0.question(), None);
}
