//! Programs that do unusual things, on drivers with few functions.

use std::path::{Path, PathBuf};

use vramscope_capture_tests::programs::{compile, fakecuda};
use vramscope_capture_tests::session::{Captured, Session};
use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::model::Action;

/// Sizes of the allocations in the order of the trace.
fn allocated(captured: &Captured) -> Vec<u64> {
    let snapshot = captured.snapshot();
    let events = snapshot
        .trace(0)
        .map(|row| snapshot.events.get(vramscope_core::ids::EventId(row)));
    let allocated = events.filter(|event| event.action == Action::Alloc);
    allocated.map(|event| event.size).collect()
}

/// A library whose constructor waits for a thread that allocates: the dynamic linker holds its lock all the time, so
/// the recorder must not need it. `DIRECT` programs are linked with the driver.
const WAITING: &str = r#"
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <pthread.h>
    #include <semaphore.h>
    #include <stdio.h>
    #include <unistd.h>
    typedef unsigned long long address;
    #ifdef DIRECT
    int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *), cuCtxSynchronize(void);
    int cuMemAlloc_v2(address *, size_t), cuMemFree_v2(address), cuMemAllocAsync(address *, size_t, void *);
    #define FIND(name)
    #else
    static int (*cuInit)(unsigned), (*cuDevicePrimaryCtxRetain)(void **, int), (*cuCtxSetCurrent)(void *);
    static int (*cuCtxSynchronize)(void), (*cuMemAlloc_v2)(address *, size_t), (*cuMemFree_v2)(address);
    static int (*cuMemAllocAsync)(address *, size_t, void *);
    #define FIND(name) name = dlsym(driver, #name);
    #endif
    static int failures;
    static sem_t is_ready, may_go, is_done;
    static void *work(void *unused) {
        void *context;
        address one, two;
        failures += !!cuDevicePrimaryCtxRetain(&context, 0) + !!cuCtxSetCurrent(context);
        sem_post(&is_ready);
        sem_wait(&may_go);
        failures += !!cuMemAlloc_v2(&one, 3 << 20) + !!cuMemAllocAsync(&two, 5 << 20, 0);
        failures += !!cuMemFree_v2(one) + !!cuCtxSynchronize();
        sem_post(&is_done);
        return 0;
    }
    void wait_for_worker(void) {
        sem_post(&may_go);
        sem_wait(&is_done);
    }
    int main(int count, char **paths) {
        alarm(10);
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        FIND(cuInit) FIND(cuDevicePrimaryCtxRetain) FIND(cuCtxSetCurrent) FIND(cuCtxSynchronize)
        FIND(cuMemAlloc_v2) FIND(cuMemFree_v2) FIND(cuMemAllocAsync)
        failures += !!cuInit(0);
        pthread_t worker;
        pthread_create(&worker, 0, work, 0);
        sem_wait(&is_ready);
        if (!dlopen(paths[1], RTLD_NOW)) puts(dlerror());
        printf("%d failures\n", failures);
        return 0;
    }
"#;

#[track_caller]
fn constructor_that_waits(flags: &[&str]) {
    const LIBRARY: &str = r"
        void wait_for_worker(void);
        __attribute__((constructor)) static void start(void) { wait_for_worker(); }
    ";
    let session = Session::new();
    let [program, library] = ["program", "library.so"].map(|name| session.folder().join(name));
    compile(LIBRARY, &["-shared", "-fPIC"], &library);
    let flags = [&["-rdynamic", "-pthread", "-Wl,-z,now"], flags].concat();
    compile(WAITING, &flags, &program);
    let captured = session.capture_program(&program, &[&library.display().to_string()]);
    assert!(captured.status.success(), "{}", captured.stderr);
    assert_eq!(captured.stdout, "0 failures\n");
    assert_eq!(allocated(&captured), [3 << 20, 5 << 20]);
}

#[test]
fn a_constructor_waits_for_a_thread_that_allocates() {
    constructor_that_waits(&[]);
}

#[test]
fn a_constructor_waits_for_a_thread_of_a_linked_program() {
    let driver = fakecuda().join("libcuda.so.1").display().to_string();
    constructor_that_waits(&["-DDIRECT", "-Wl,--no-as-needed", &driver]);
}

/// A driver that can only allocate, and raises a signal when it synchronises.
const SMALL_DRIVER: &str = r"
    #include <signal.h>
    #include <stddef.h>
    static unsigned long long next = 0x700000000000;
    int cuMemAlloc_v2(unsigned long long *place, size_t bytes) { *place = next; next += bytes; return 0; }
    int cuCtxSynchronize(void) { raise(SIGUSR1); return 0; }
";

/// Compiles a program, and runs it on [`SMALL_DRIVER`].
fn on_small_driver(code: &str) -> Captured {
    let session = Session::new();
    let folder = session.folder().join("cuda");
    std::fs::create_dir(&folder).expect("a folder");
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"];
    compile(SMALL_DRIVER, &flags, &folder.join("libcuda.so.1"));
    let program = session.folder().join("program");
    compile(code, &["-rdynamic"], &program);
    let captured = session
        .env("LD_LIBRARY_PATH", &folder.display().to_string())
        .capture_program(&program, &[]);
    assert!(captured.status.success(), "{}", captured.stderr);
    captured
}

/// Missing driver functions are not looked up repeatedly: each lookup would take the dynamic linker's lock.
#[test]
fn functions_that_the_driver_lacks() {
    let captured = on_small_driver(
        r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        static int lookups;
        void *dlopen(const char *name, int flags) {
            static void *(*next)(const char *, int);
            if (!next) next = dlsym(RTLD_NEXT, "dlopen");
            lookups += name && strstr(name, "libcuda") != 0;
            return next(name, flags);
        }
        int main(void) {
            void *driver = dlopen("libcuda.so.1", RTLD_NOW);
            int (*alloc)(unsigned long long *, size_t) = dlsym(driver, "cuMemAlloc_v2");
            lookups = 0;
            unsigned long long place;
            for (int i = 0; i < 100; i++) alloc(&place, 512);
            printf("%d lookups\n", lookups);
            return 0;
        }
        "#,
    );
    assert_eq!(captured.stdout, "0 lookups\n");
    assert_eq!(allocated(&captured), [512; 100]);
}

/// A program that leaves a driver call by a jump out of a signal handler is still recorded.
#[test]
fn calls_that_never_return() {
    let captured = on_small_driver(
        r#"
        #include <dlfcn.h>
        #include <setjmp.h>
        #include <signal.h>
        static sigjmp_buf start;
        static void leave(int signal) { siglongjmp(start, 1); }
        static __attribute__((noinline)) int deeper(int (*call)(void)) {
            volatile char room[1000];
            room[0] = room[999] = 1;
            return call() + room[0];
        }
        int main(void) {
            void *driver = dlopen("libcuda.so.1", RTLD_NOW);
            int (*alloc)(unsigned long long *, size_t) = dlsym(driver, "cuMemAlloc_v2");
            int (*synchronize)(void) = dlsym(driver, "cuCtxSynchronize");
            unsigned long long place;
            signal(SIGUSR1, leave);
            alloc(&place, 1024);
            if (!sigsetjmp(start, 1)) deeper(synchronize);
            alloc(&place, 2048);
            return 0;
        }
        "#,
    );
    assert_eq!(allocated(&captured), [1024, 2048]);
}

/// gcc's sanitizer is a library, and ends programs if another library comes before it.
#[test]
fn a_program_with_the_address_sanitizer() {
    const PROGRAM: &str = r#"
        #include <dlfcn.h>
        #include <stdlib.h>
        int main(void) {
            void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
            int (*init)(unsigned) = dlsym(driver, "cuInit");
            int (*retain)(void **, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
            int (*set)(void *) = dlsym(driver, "cuCtxSetCurrent");
            int (*alloc)(unsigned long long *, size_t) = dlsym(driver, "cuMemAlloc_v2");
            unsigned long long place;
            free(malloc(100));
            return init(0) + retain(&context, 0) + set(context) + alloc(&place, 4096);
        }
    "#;
    let session = Session::new();
    let program = session.folder().join("program");
    if !has_sanitizer(&session) {
        eprintln!("not tested: this compiler has no address sanitizer");
        return;
    }
    compile(PROGRAM, &["-fsanitize=address"], &program);
    // Leaks in the stand-in driver do not matter here.
    let session = session.env("ASAN_OPTIONS", "detect_leaks=0");
    let captured = session.capture_program(&program, &[]);
    assert!(captured.status.success(), "{}", captured.stderr);
    assert_eq!(allocated(&captured), [4096]);
    let capture = Capture::of(&captured.snapshot()).expect("a captured snapshot");
    assert_eq!(capture.notes, Vec::<String>::new());
}

/// Whether the compiler supports the sanitizer.
fn has_sanitizer(session: &Session) -> bool {
    let [source, program] =
        ["empty.c", "empty"].map(|name| -> PathBuf { session.folder().join(name) });
    std::fs::write(&source, "int main(void) { return 0; }").expect("room");
    let mut compiler = std::process::Command::new("cc");
    let compiler = compiler
        .arg("-fsanitize=address")
        .arg(&source)
        .arg("-o")
        .arg(&program);
    let is_compiled = compiler
        .output()
        .is_ok_and(|output| output.status.success());
    let runs = |program: &Path| {
        let output = std::process::Command::new(program).output();
        output.is_ok_and(|output| output.status.success())
    };
    is_compiled && runs(&program)
}
