//! Other libraries in front of the driver, and threads of the driver.

use std::path::{Path, PathBuf};

use vramscope_capture_tests::programs::{client, compile, fakecuda};
use vramscope_capture_tests::session::Session;
use vramscope_capture_tests::story::{assert_same, assert_same_blocks, assert_same_by_address};
use vramscope_core::analysis::memory::capture::Capture;

/// A library that interposes `dlsym`, like those that share a GPU between containers: it counts `cuMemAlloc`, and
/// passes other calls on with `NEXT`.
const INTERPOSER: &str = r#"
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    #include <string.h>
    static void *(*real)(void *, const char *);
    static void *(*next)(void *, const char *);
    static int (*alloc)(unsigned long long *, size_t);
    static int calls;
    static int counted(unsigned long long *place, size_t bytes) {
        calls++;
        return alloc(place, bytes);
    }
    void *dlsym(void *library, const char *name) {
        if (!real) {
            real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
            if (!real) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
            next = NEXT;
        }
        void *found = next(library, name);
        if (found && !strcmp(name, "cuMemAlloc_v2")) {
            alloc = found;
            return counted;
        }
        return found;
    }
    __attribute__((destructor)) static void told(void) {
        if (calls) printf("counted %d\n", calls);
    }
"#;

/// Compiles [`INTERPOSER`].
fn interposer(session: &Session, name: &str, next: &str) -> PathBuf {
    let library = session.folder().join(name);
    let flags = ["-shared", "-fPIC", &format!("-DNEXT={next}")];
    compile(INTERPOSER, &flags, &library);
    library
}

/// Interposers after the recorder, and before it: each sees the same as alone, and so does the recorder.
#[test]
fn interposers_of_dlsym() {
    let alone = {
        let session = Session::new();
        let library = interposer(&session, "alone.so", "real");
        let mut program = session.alone(&client("scenes"), &["dlsym", "plain"]);
        let output = program
            .env("LD_PRELOAD", library)
            .output()
            .expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(alone.contains("counted 25"), "{alone}");

    let session = Session::new();
    let library = interposer(&session, "after.so", "real")
        .display()
        .to_string();
    let captured = session
        .env("LD_PRELOAD", &library)
        .capture("scenes", &["dlsym", "plain"]);
    assert_eq!(captured.stdout, alone, "{}", captured.stderr);
    assert_same(&captured.snapshot(), captured.ledger());
    let notes = Capture::of(&captured.snapshot())
        .expect("a captured snapshot")
        .notes;
    assert_eq!(
        notes,
        [format!(
            "{library} interposes dlsym too: its functions run as without the recorder."
        )]
    );

    let session = Session::new();
    let library = interposer(&session, "before.so", "real(RTLD_NEXT, \"dlsym\")")
        .display()
        .to_string();
    let program = format!(
        "LD_PRELOAD={library}:$LD_PRELOAD exec {} dlsym plain",
        client("scenes").display()
    );
    let captured = session.capture_program(Path::new("/bin/sh"), &["-c", &program]);
    assert_eq!(captured.stdout, alone, "{}", captured.stderr);
    assert_same(&captured.snapshot(), captured.ledger());
    let notes = Capture::of(&captured.snapshot())
        .expect("a captured snapshot")
        .notes;
    assert!(
        notes[0].starts_with(&format!("{library} interposes dlsym before")),
        "{notes:?}"
    );
}

/// A library that has the driver's functions and is found before it, like Nsight Compute's.
const IN_FRONT: &str = r#"
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    static int calls;
    int cuMemAlloc_v2(unsigned long long *place, size_t bytes) {
        int (*next)(unsigned long long *, size_t) = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
        calls++;
        return next(place, bytes);
    }
    __attribute__((destructor)) static void told(void) {
        if (calls) printf("in front %d\n", calls);
    }
"#;

/// The driver's functions are recorded, whether the library in front calls them or not.
#[test]
fn functions_in_front_of_the_drivers() {
    for (program, arguments, is_in_front) in [
        ("linked", ["", "plain"], true),
        ("scenes", ["dlsym", "plain"], false),
        ("scenes", ["proc", "plain"], false),
    ] {
        let session = Session::new();
        let library = session.folder().join("front.so");
        compile(IN_FRONT, &["-shared", "-fPIC"], &library);
        let driver = fakecuda().join("libcuda.so.1");
        let preloaded = format!("{}:{}", library.display(), driver.display());
        let session = session.env("LD_PRELOAD", &preloaded);
        let captured = session.capture(program, &arguments);
        assert!(captured.status.success(), "{}", captured.stderr);
        let told = captured.stdout.contains("in front");
        assert_eq!(told, is_in_front, "{arguments:?}: {}", captured.stdout);
        assert_same(&captured.snapshot(), captured.ledger());
    }
}

/// A call that goes through a library in front and the driver is recorded once.
#[test]
fn a_graphs_node_through_a_library_in_front() {
    const FRONT: &str = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        int cuGraphAddNode(void **node, void *graph, void *before, unsigned long count, void *parameters) {
            int (*next)(void **, void *, void *, unsigned long, void *) =
                dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuGraphAddNode");
            return next(node, graph, before, count, parameters);
        }
    "#;
    const PROGRAM: &str = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #define CALL(name, ...) if (((int (*)())dlsym(RTLD_DEFAULT, #name))(__VA_ARGS__)) return 1
        int main(void) {
            void *context, *graph, *node;
            CALL(cuInit, 0);
            CALL(cuDevicePrimaryCtxRetain, &context, 0);
            CALL(cuCtxSetCurrent, context);
            CALL(cuGraphCreate, &graph, 0);
            unsigned long long alloc[32] = {10}, again[32] = {10}, free[32] = {11};
            alloc[2 + 13] = again[2 + 13] = 2 << 20;
            CALL(cuGraphAddNode, &node, graph, (void *)0, 0ul, alloc);
            CALL(cuGraphAddNode, &node, graph, (void *)0, 0ul, again);
            free[2] = alloc[2 + 14];
            CALL(cuGraphAddNode, &node, graph, (void *)0, 0ul, free);
            return 0;
        }
    "#;
    let session = Session::new();
    let [library, program] = ["front.so", "nodes"].map(|name| session.folder().join(name));
    compile(FRONT, &["-shared", "-fPIC"], &library);
    compile(PROGRAM, &["-g"], &program);
    let driver = fakecuda().join("libcuda.so.1");
    let preloaded = format!("{}:{}", library.display(), driver.display());
    let session = session.env("LD_PRELOAD", &preloaded);
    let captured = session.capture_program(&program, &[]);
    assert!(captured.status.success(), "{}", captured.stderr);
    let snapshot = captured.snapshot();
    assert_same_blocks(&snapshot, captured.ledger());
    let capture = Capture::of(&snapshot).expect("a captured snapshot");
    assert_eq!(capture.notes, [""; 0]);
}

/// Of several libraries with the driver's functions, hooks wrap the first two, or only the first for some functions;
/// and a third once the first is gone. Functions that are not wrapped are counted.
#[test]
fn three_drivers() {
    const PROGRAM: &str = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        static void tell(void *library) {
            Dl_info info;
            dladdr(dlsym(library, "cuMemAlloc_v2"), &info);
            puts(strrchr(info.dli_fname, '/') + 1);
        }
        int main(int count, char **paths) {
            void *loaded[3];
            for (int at = 0; at < 3; at++)
                tell(loaded[at] = dlopen(paths[at + 1], RTLD_NOW));
            tell(loaded[0]);
            dlclose(loaded[0]);
            if (dlopen(paths[1], RTLD_NOW | RTLD_NOLOAD)) puts("still there");
            tell(loaded[2]);
            dlsym(loaded[1], "cuLaunchHostFunc");
            dlsym(loaded[2], "cuLaunchHostFunc");
            // A call that is recorded, so that there is a log.
            ((int (*)(unsigned long long))dlsym(loaded[1], "cuMemFree_v2"))(0);
            return 0;
        }
    "#;
    let session = Session::new();
    let program = session.folder().join("three");
    compile(PROGRAM, &[], &program);
    let paths = ["first.so", "second.so", "third.so"].map(|name| {
        let path = session.folder().join(name);
        std::fs::copy(fakecuda().join("libcuda.so.1"), &path).expect("room");
        path.display().to_string()
    });
    let captured = session.capture_program(&program, &[&paths[0], &paths[1], &paths[2]]);
    let (hook, third) = ("libvramscope_inject.so", "third.so");
    let told: Vec<_> = captured.stdout.lines().collect();
    assert_eq!(told, [hook, hook, third, hook, hook], "{}", captured.stderr);
    let lost = "of one more library that has them; direct calls of it are not recorded (once)";
    assert!(captured.stderr.contains(lost), "{}", captured.stderr);
}

/// The driver is never called on its own threads: the recorder queried the device when the function was launched.
#[test]
fn threads_of_the_driver() {
    let captured = Session::new().capture("scenes", &["dlsym", "host-function"]);
    assert!(captured.status.success(), "{}", captured.stderr);
    assert!(!captured.stderr.contains("fakecuda"), "{}", captured.stderr);
    let snapshot = captured.snapshot();
    assert_same(&snapshot, captured.ledger());
    let marks = &snapshot.annotations.rows;
    assert!(
        !marks.is_empty()
            && marks
                .iter()
                .all(|mark| mark.device == 0 && mark.stream.is_some()),
        "{marks:?}"
    );
}

/// A program's own `malloc`, as in a tool that allocates from the device, is not called by the recorder.
#[test]
fn the_programs_allocator_is_its_own() {
    const MALLOC: &str = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
        static int calls, others;
        static void from(void *caller) {
            Dl_info info;
            int found = dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libvramscope_inject");
            *(found ? &calls : &others) += 1;
        }
        void *malloc(size_t bytes) { from(__builtin_return_address(0)); return __libc_malloc(bytes); }
        void *calloc(size_t n, size_t bytes) { from(__builtin_return_address(0)); return __libc_calloc(n, bytes); }
        void *realloc(void *p, size_t bytes) { from(__builtin_return_address(0)); return __libc_realloc(p, bytes); }
        __attribute__((destructor)) static void told(void) {
            if (others) fprintf(stderr, "malloc: %d by the recorder\n", calls);
        }
    "#;
    let session = Session::new();
    let library = session.folder().join("malloc.so");
    compile(MALLOC, &["-shared", "-fPIC"], &library);
    let program = format!(
        "LD_PRELOAD=$LD_PRELOAD:{} exec {} dlsym annotations",
        library.display(),
        client("scenes").display()
    );
    let captured = session.capture_program(Path::new("/bin/sh"), &["-c", &program]);
    assert!(captured.status.success(), "{}", captured.stderr);
    assert!(
        captured.stderr.contains("malloc: 0 by the recorder"),
        "{}",
        captured.stderr
    );
    assert_same_by_address(&captured.snapshot(), captured.ledger());
}
