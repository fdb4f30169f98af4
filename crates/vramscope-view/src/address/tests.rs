//! Addresses written and read back.

use proptest::option;
use proptest::prelude::*;

use super::*;

fn address() -> Address {
    Address {
        file: Some(FileKey {
            name: "my run~1.pickle".to_owned(),
            bytes: Some(1_048_576),
            copy: 0,
        }),
        view: Some(ViewKind::Table),
        search: "frame:attention size>100MiB & \"a=b\"".to_owned(),
        place: DevicePlace {
            device: Some(3),
            axis: XUnit::Time,
            picture: Picture::Map,
            x: Some((12.5, 900.0)),
            range: Some((20.0, 30.0)),
            cursor: Some(7),
            pinned: Some(Pinned::Allocation(AllocationId(99))),
            ..DevicePlace::default()
        },
        ..Address::default()
    }
}

#[test]
fn reads_like_this() {
    let text = address().to_text();
    assert_eq!(
        text,
        "file=my%20run~1.pickle~1048576&view=table&device=3&axis=time&picture=map&x=12.5..900&range=20..30\
         &at=7&pin=99&q=frame:attention%20size%3E100MiB%20%26%20%22a%3Db%22&v=1"
    );
    assert_eq!(Address::parse(&format!("#{text}")), Some(address()));
}

#[test]
fn a_name_may_have_what_stands_before_a_size() {
    for (name, bytes, word) in [
        ("run.pickle", None, "run.pickle"),
        ("run~1.vram", None, "run~1.vram~"),
        ("run~12", None, "run~12~"),
        ("run.pickle~", None, "run.pickle~~"),
        ("run~12", Some(7), "run~12~7"),
    ] {
        let mut address = address();
        address.file = Some(FileKey {
            name: name.to_owned(),
            bytes,
            copy: 0,
        });
        let text = address.to_text();
        assert!(text.starts_with(&format!("file={word}&")), "{text}");
        assert_eq!(Address::parse(&text), Some(address));
    }
    // As written by hand.
    let of = |word: &str| <Address>::parse(&format!("file={word}&v=1")).unwrap().file;
    assert_eq!(of("run~1.vram").unwrap().name, "run~1.vram");
    assert_eq!(of("run~1.vram").unwrap().bytes, None);
}

#[test]
fn beside_one_file_its_name_may_be_left_out() {
    let of = |text: &str| <Address>::parse_of(text, "run~1.pickle");
    let expected = <Address>::parse("file=run~1.pickle~&view=map&v=1");
    assert!(expected.is_some());
    for text in [
        "#view=map",
        "view=map&v=1",
        "file=run~1.pickle~&view=map&v=1",
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
    for other in ["", "#", "#section-2", "view=map&v=2", "file=a&view=map"] {
        assert_eq!(of(other), None, "{other}");
    }
}

#[test]
fn an_event_is_pinned_by_a_word() {
    let mut address = address();
    address.place.pinned = Some(Pinned::Event);
    let text = address.to_text();
    assert!(text.contains("&at=7&pin=event&"), "{text}");
    assert_eq!(Address::parse(&text), Some(address));
    let pinned = |text: &str| <Address>::parse(text).unwrap().place.pinned;
    assert_eq!(pinned("file=a~1&pin=nothing&v=1"), None);
}

#[test]
fn segments_and_groups_are_pinned_by_words() {
    let pixel = Pixel {
        picture: Picture::Map,
        axis: XUnit::Time,
        x: (0.1, 0.30000000000000004),
        y_bytes: (1024.5, 4096.0),
    };
    for (pinned, word) in [
        (Pinned::Segment(12), "segment:12"),
        (
            Pinned::Group(pixel),
            "group:map:time:0.1..0.30000000000000004:1024.5..4096",
        ),
    ] {
        let mut address = address();
        address.place.pinned = Some(pinned);
        let text = address.to_text();
        assert!(text.contains(&format!("&pin={word}&")), "{text}");
        assert_eq!(Address::parse(&text), Some(address));
    }
    for wrong in [
        "segment",
        "segment:-1",
        "segment:1:2",
        "group:map:time:5..4:0..1",
        "group:map:time:0..inf:0..1",
        "group:nothing:time:0..1:0..1",
    ] {
        let address = <Address>::parse(&format!("file=a~1&pin={wrong}&v=1")).unwrap();
        assert_eq!(address.place.pinned, None, "{wrong}");
    }
}

#[test]
fn former_names_of_views_are_read() {
    for (name, view) in [
        ("state", ViewKind::Allocator),
        ("allocator", ViewKind::Allocator),
    ] {
        let address = <Address>::parse(&format!("file=a~1&view={name}&v=1")).unwrap();
        assert_eq!(address.view, Some(view));
    }
}

#[test]
fn unknown_and_wrong_words_are_skipped() {
    let text = "later=1&flame.x=!n&flame.later=(a:1)&nonsense.a=1&device=many&x=9..1&y=a..b&view=later&file=a~1&&=&v=1";
    let expected = Address {
        file: Some(FileKey {
            name: "a".to_owned(),
            bytes: Some(1),
            copy: 0,
        }),
        ..<Address>::default()
    };
    assert_eq!(Address::parse(text), Some(expected));
    for other in [
        "",
        "#",
        "file=a~1",
        "file=a~1&v=2",
        "view=map&v=1",
        "section-2",
    ] {
        assert_eq!(<Address>::parse(other), None, "{other}");
    }
}

#[test]
fn what_strangers_put_in_an_address_is_bounded_and_harmless() {
    let many = "flame.x=1&".repeat(100_000);
    assert_eq!(<Address>::parse(&format!("file=a~1&{many}v=1")), None);
    let text = "file=x'$(id)%0A%E2%80%AE.pickle~1&range=0..5e-324&v=1";
    let address = <Address>::parse(text).unwrap();
    assert_eq!(
        address.file.as_ref().unwrap().name,
        "x'$(id)\\u000a\\u202e.pickle"
    );
    assert_eq!(address.place.range, None);
    let text = address.to_text();
    assert!(text.starts_with("file=x%27%24(id)%5Cu000a"), "{text}");
}

#[test]
fn the_start_page_has_no_text() {
    assert_eq!(<Address>::default().to_text(), "");
}

proptest! {
    #[test]
    fn every_address_comes_back(
        name in ".{0,12}".prop_map(|name| invisible::escaped_line(&name).into_owned()), bytes in option::of(any::<u64>()), copy in 0..3_u32, search in ".{0,12}", view in option::of(0..10_usize),
        x in option::of((0.0..1e7, 1e-3..1e6)), y in option::of((0.0..1e11, 512.0..1e11)),
        cursor: Option<u32>, pinned: Option<u32>, device: Option<u32>,
    ) {
        let span = |(from, length): Span| rounded((from, from + length));
        let view = view.map(|view| ViewKind::ALL[view]);
        let address = Address {
            file: Some(FileKey { name, bytes, copy }),
            view,
            search,
            place: DevicePlace {
                device,
                picture: view.and_then(ViewKind::picture).unwrap_or_default(),
                x: x.map(span),
                y_bytes: y.map(span),
                range: x.map(span),
                cursor,
                pinned: pinned.map(|id| Pinned::Allocation(AllocationId(id))),
                ..DevicePlace::default()
            },
            ..<Address>::default()
        };
        let text = address.to_text();
        prop_assert!(text.is_ascii() && !text.contains([' ', '"', '<', '>', '`', '#', '\'', '$', ';']));
        prop_assert_eq!(Address::parse(&text), Some(address));
    }

    #[test]
    fn rounding_is_finer_than_what_is_seen(from in 0.0..1e9, length in 0.01..1e9) {
        let (a, b) = rounded((from, from + length));
        let off = |value: f64, rounded: f64| (value - rounded).abs() <= length * 1e-4;
        prop_assert!(off(from, a) && off(from + length, b));
        prop_assert_eq!(rounded((a, b)), (a, b));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        let _ = <Address>::parse(&format!("file={text}~1&{text}&v=1"));
    }
}
