//! Names that reveal nothing private: those of public packages, of Python and of PyTorch.

/// Whether a list of words separated by spaces contains a word.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Packages on PyPI and conda-forge that training code uses, by the name of their folder or single file.
const PACKAGES: &str = "\
    IPython PIL _pytest absl accelerate aiohttp anyio apex asgiref bitsandbytes click colossalai \
    composer cuda cudf cuml cupy cv2 dask datasets debugpy decorator deepspeed dgl diffusers einops einx \
    evaluate fairscale fastai fastapi filelock fire flash_attn flax fsspec functorch gradio \
    huggingface_hub hydra ignite ipykernel jax jaxlib jaxtyping joblib jupyter_client keras kornia \
    lightning lightning_fabric litgpt lm_eval matplotlib megatron mmcv mmengine monai multiprocess nbclient \
    networkx numba numpy omegaconf onnx onnxruntime open_clip optimum packaging pandas peft \
    pluggy pyarrow pydantic pytest pytorch_lightning ray safetensors scipy sentence_transformers sglang \
    sklearn starlette streamlit sympy tensorboard tensordict timm tokenizers torch torch_geometric \
    torchao torchaudio torchdata torchgen torchmetrics torchrec torchrl torchtext torchtitan torchtune \
    torch_npu torchvision tornado tqdm traitlets transformer_engine transformers triton trl uvicorn vllm xformers";

/// Whether a folder (or else a file) in `site-packages` belongs to a public package.
pub(super) fn is_package(component: &str, is_folder: bool) -> bool {
    // A single-file module has no folder.
    match component.strip_suffix(".py") {
        Some(module) => !is_folder && is_in(PACKAGES, module),
        None => is_folder && component != "decorator" && is_in(PACKAGES, component),
    }
}

/// Folders that exist on every machine.
const FOLDERS: &str = "\
    . .. .conda .local .pyenv .venv Users anaconda3 bin build conda data envs home lib lib64 Lib local \
    miniconda3 mnt opt root src tmp usr venv workspace .cargo registry git rustc rustlib \
    pytorch torch aten c10 Objects Include libstdc++-v3 build-static .triton cache";

/// Whether a folder's name reveals nothing, wherever the folder is.
pub(super) fn is_folder(component: &str) -> bool {
    let is_drive = matches!(component.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic());
    is_drive
        || is_site(component)
        || is_python(component)
        || component.is_empty()
        || is_in(FOLDERS, component)
}

/// Whether this is a folder of installed packages.
pub(super) fn is_site(component: &str) -> bool {
    matches!(component, "site-packages" | "dist-packages")
}

/// Whether this is named like the folder of the standard library or its parent: `python3.12`, `Python311`.
pub(super) fn is_python(component: &str) -> bool {
    let version = component
        .strip_prefix("python")
        .or(component.strip_prefix("Python"));
    version.is_some_and(is_version)
}

/// Whether this is named like a build folder of Python: `Python-3.11.1`, `python-3.12.2`, `python-split_1715024085344`.
pub(super) fn is_python_source(component: &str) -> bool {
    let version = component
        .strip_prefix("python-")
        .or(component.strip_prefix("Python-"));
    version.is_some_and(|version| version.starts_with("split_") || is_version(version))
}

/// Whether the text is a version of Python: `3`, `3.12`, `311`, `3.11.1`.
fn is_version(text: &str) -> bool {
    let is_part = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts = text.split('.');
    let is_first =
        |part: &str| matches!(part, "2" | "3") || part.starts_with('3') && is_part(&part[1..]);
    parts.next().is_some_and(is_first) && text.split('.').count() <= 3 && parts.all(is_part)
}

/// Top-level folders of PyTorch's source, below a folder `pytorch`.
pub(super) fn is_torch_source(component: &str) -> bool {
    matches!(component, "torch" | "aten" | "c10" | "caffe2" | "build")
}

/// Files of the C library, by their whole path.
pub(super) fn is_libc_file(path: &str) -> bool {
    const FILES: &str = "\
        ./csu/../csu/libc-start.c ../csu/libc-start.c ./csu/../sysdeps/nptl/libc_start_call_main.h \
        ../sysdeps/nptl/libc_start_call_main.h ./nptl/pthread_create.c ./nptl/./nptl/pthread_create.c \
        ./misc/../sysdeps/unix/sysv/linux/x86_64/clone3.S ../sysdeps/unix/sysv/linux/x86_64/clone3.S \
        ./misc/../sysdeps/unix/sysv/linux/x86_64/clone.S ../sysdeps/unix/sysv/linux/x86_64/clone.S \
        ./misc/../sysdeps/unix/sysv/linux/aarch64/clone.S ../sysdeps/unix/sysv/linux/aarch64/clone.S";
    is_in(FILES, path)
}

/// Files of Python's source, by their path below its folder.
pub(super) fn is_python_source_file(path: &str) -> bool {
    const FILES: &str = "\
        Include/cpython/abstract.h Include/internal/pycore_call.h Include/internal/pycore_ceval.h \
        Include/internal/pycore_frame.h Include/internal/pycore_object.h Include/object.h Modules/_asynciomodule.c \
        Modules/_functoolsmodule.c Modules/_threadmodule.c Modules/gcmodule.c Modules/main.c Objects/abstract.c \
        Objects/boolobject.c Objects/call.c Objects/cellobject.c Objects/classobject.c Objects/descrobject.c \
        Objects/dictobject.c Objects/enumobject.c Objects/exceptions.c Objects/floatobject.c Objects/frameobject.c \
        Objects/funcobject.c Objects/genobject.c Objects/iterobject.c Objects/listobject.c Objects/longobject.c \
        Objects/memoryobject.c Objects/methodobject.c Objects/moduleobject.c Objects/object.c Objects/obmalloc.c \
        Objects/rangeobject.c Objects/setobject.c Objects/sliceobject.c Objects/tupleobject.c Objects/typeobject.c \
        Objects/unicodeobject.c Objects/weakrefobject.c Python/bltinmodule.c Python/bytecodes.c Python/ceval.c \
        Python/ceval_macros.h Python/codecs.c Python/context.c Python/errors.c Python/frame.c Python/gc.c \
        Python/generated_cases.c.h Python/getargs.c Python/import.c Python/intrinsics.c Python/modsupport.c \
        Python/pylifecycle.c Python/pystate.c Python/pythonrun.c Python/specialize.c Python/sysmodule.c \
        Python/thread.c Python/traceback.c";
    is_in(FILES, path)
}

/// Modules and packages of the standard libraries of Python 3.8 to 3.14.
const MODULES: &str = "\
    __future__ _abc _aix_support _android_support _apple_support _ast _asyncio _bisect _blake2 _bootlocale \
    _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _collections \
    _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes _curses _curses_panel \
    _datetime _dbm _decimal _dummy_thread _elementtree _frozen_importlib _frozen_importlib_external _functools _gdbm \
    _hashlib _heapq _hmac _imp _interpchannels _interpqueues _interpreters _io _ios_support _json _locale _lsprof \
    _lzma _markupbase _md5 _msi _multibytecodec _multiprocessing _opcode _operator _osx_support _overlapped _pickle \
    _posixshmem _posixsubprocess _py_abc _pydecimal _pyio _pylong _pyrepl _queue _random _remote_debugging _scproxy \
    _sha1 _sha256 _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime \
    _struct _suggestions _symtable _sysconfig _thread _threading_local _tkinter _tokenize _tracemalloc _types \
    _typing _uuid _warnings _weakref _weakrefset _winapi _zoneinfo _zstd abc aifc annotationlib antigravity argparse \
    array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii binhex bisect builtins bz2 cProfile \
    calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression concurrent \
    configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal \
    difflib dis distutils doctest dummy_threading email encodings ensurepip enum errno faulthandler fcntl filecmp \
    fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp \
    gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json \
    keyword lib2to3 linecache locale logging lzma macpath mailbox mailcap marshal math mimetypes mmap \
    modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator \
    optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix \
    posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re \
    readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd \
    smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string \
    stringprep struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile \
    termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty \
    turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg \
    winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo";

/// Whether a file below the standard library's folder belongs to one of its packages: `json/decoder.py`.
pub(super) fn is_standard_package_file(path: &str) -> bool {
    const FILES: &str = "\
        _pyrepl/__main__ asyncio/__init__ asyncio/__main__ asyncio/base_events asyncio/base_futures \
        asyncio/base_subprocess asyncio/base_tasks asyncio/coroutines asyncio/events asyncio/exceptions asyncio/futures \
        asyncio/graph asyncio/locks asyncio/mixins asyncio/proactor_events asyncio/protocols asyncio/queues asyncio/runners \
        asyncio/selector_events asyncio/sslproto asyncio/staggered asyncio/streams asyncio/subprocess asyncio/taskgroups \
        asyncio/tasks asyncio/threads asyncio/timeouts asyncio/transports asyncio/trsock asyncio/unix_events \
        asyncio/windows_events asyncio/windows_utils collections/__init__ collections/abc concurrent/__init__ \
        concurrent/futures/__init__ concurrent/futures/_base concurrent/futures/interpreter concurrent/futures/process \
        concurrent/futures/thread ctypes/__init__ ctypes/util curses/__init__ email/__init__ email/message email/parser \
        encodings/__init__ encodings/aliases encodings/ascii encodings/cp1252 encodings/idna encodings/latin_1 \
        encodings/utf_8 html/__init__ html/parser http/__init__ http/client http/server importlib/__init__ \
        importlib/_abc importlib/_bootstrap importlib/_bootstrap_external importlib/abc importlib/machinery \
        importlib/metadata/__init__ importlib/resources/__init__ importlib/util json/__init__ json/decoder json/encoder \
        json/scanner json/tool logging/__init__ logging/config logging/handlers multiprocessing/__init__ \
        multiprocessing/connection multiprocessing/context multiprocessing/dummy/__init__ \
        multiprocessing/dummy/connection multiprocessing/forkserver multiprocessing/heap multiprocessing/managers \
        multiprocessing/pool multiprocessing/popen_fork multiprocessing/popen_forkserver \
        multiprocessing/popen_spawn_posix multiprocessing/popen_spawn_win32 multiprocessing/process \
        multiprocessing/queues multiprocessing/reduction multiprocessing/resource_sharer \
        multiprocessing/resource_tracker multiprocessing/shared_memory multiprocessing/sharedctypes \
        multiprocessing/spawn multiprocessing/synchronize multiprocessing/util pathlib/__init__ pathlib/_abc \
        pathlib/_local re/__init__ re/_casefix re/_compiler re/_constants re/_parser sqlite3/__init__ sqlite3/dbapi2 \
        string/__init__ sysconfig/__init__ tomllib/__init__ tomllib/_parser unittest/__init__ unittest/__main__ \
        unittest/async_case unittest/case unittest/loader unittest/main unittest/mock unittest/result unittest/runner \
        unittest/suite unittest/util urllib/__init__ urllib/error urllib/parse urllib/request urllib/response \
        venv/__init__ wsgiref/__init__ xml/__init__ xml/etree/__init__ xml/etree/ElementTree xmlrpc/__init__ \
        xmlrpc/client zipfile/__init__ zipfile/__main__ zoneinfo/__init__";
    let stem = path.strip_suffix(".py").or(path.strip_suffix(".pyc"));
    stem.is_some_and(|stem| is_in(FILES, stem))
}

/// Whether a file is one of the standard library's modules, such as `threading.py`,
/// `_bisect.cpython-312-x86_64-linux-gnu.so`.
pub(super) fn is_standard(component: &str) -> bool {
    const ENDINGS: [&str; 3] = [".py", ".pyc", ".so"];
    let stem = ENDINGS
        .iter()
        .find_map(|ending| component.strip_suffix(ending));
    // Built for one version of Python and one platform.
    let is_binary = |stem: &str| {
        const PLATFORMS: [&str; 4] = ["", "-x86_64-linux-gnu", "-aarch64-linux-gnu", "-darwin"];
        let parts = stem.split_once(".cpython-");
        parts.is_some_and(|(module, built)| {
            let platform = built.trim_start_matches(|first: char| first.is_ascii_digit());
            is_in(MODULES, module)
                && built.len() <= platform.len() + 3
                && PLATFORMS.contains(&platform)
        })
    };
    stem.is_some_and(|stem| is_in(MODULES, stem) || is_binary(stem))
}

/// Whether a frozen module is one of the standard library's.
pub(super) fn is_frozen_module(name: &str) -> bool {
    is_in(MODULES, name)
        || matches!(
            name,
            "importlib._bootstrap" | "importlib._bootstrap_external"
        )
}

/// Modules of the standard library whose files occur without a folder in the profiler's output.
pub(super) fn is_lone_module(name: &str) -> bool {
    const MODULES: &str = "\
        _collections_abc abc codecs contextlib functools os queue runpy selectors site socketserver threading zipimport";
    is_in(MODULES, name)
}

pub(super) fn is_ending(ending: &str) -> bool {
    const ENDINGS: &str = "\
        a c cc cpp cu cuh cxx dll h hh hpp ipynb pxd py pyc pyd pyw pyx so";
    is_in(ENDINGS, ending)
}

/// Function names that PyTorch or the language prescribes, whoever wrote the function.
pub(super) fn is_function(name: &str) -> bool {
    const FUNCTIONS: &str = "\
        ?? <dictcomp> <genexpr> <lambda> <listcomp> <locals> <module> <setcomp> __call__ __create_fn__ \
        __del__ __enter__ __eq__ __exit__ __ge__ __getattr__ __getitem__ __gt__ __hash__ __init__ \
        __init_subclass__ __iter__ __le__ __len__ __lt__ __new__ __next__ __post_init__ __repr__ __setattr__ \
        __setitem__ __str__ __torch_dispatch__ __torch_function__ _call_impl _wrapped_call_impl backward \
        clone clone3 forward main start_thread step";
    name == "<unwind unsupported>" || is_in(FUNCTIONS, name)
}

/// The prefix that identifies a C function as one of CPython, Cython, the C library, PyTorch or CUDA's libraries. The
/// prefix alone does not make a name public.
pub(super) fn c_beginning(name: &str) -> Option<&'static str> {
    /// Prefixes that a capital or `_` follows.
    const WORDS: [&str; 9] = [
        "Py", "_Py", "THP", "cublasLt", "cublas", "cudnn", "cuda", "cu", "nccl",
    ];
    const BEGINNINGS: [&str; 13] = [
        "__Pyx_",
        "__libc_",
        "__clone",
        "pthread_",
        "cfunction_",
        "method_vectorcall",
        "partial_",
        "slot_",
        "execute_native_thread_routine",
        "wrap_call",
        "clone3",
        "__rust_",
        "_start",
    ];
    let is_before_word = |beginning: &&&str| {
        let rest = name.strip_prefix(**beginning);
        rest.is_some_and(|rest| {
            rest.starts_with(|first: char| first == '_' || first.is_ascii_uppercase())
        })
    };
    let word = WORDS.iter().find(is_before_word);
    word.or_else(|| {
        BEGINNINGS
            .iter()
            .find(|beginning| name.starts_with(**beginning))
    })
    .copied()
}

/// Namespaces of PyTorch, of libraries that it contains, and of C++.
pub(super) fn is_namespace(name: &str) -> bool {
    const NAMESPACES: &str = "\
        at aten autograd c10 c10d caffe2 cub cuda cutlass fmt gloo nccl pybind11 ska std thrust torch tensorpipe \
        __gnu_cxx __cxxabiv1 __detail";
    is_in(NAMESPACES, name)
}

/// Words of C++ and its compilers, and PyTorch's names of types outside namespaces.
pub(super) fn is_keyword(word: &str) -> bool {
    const WORDS: &str = "\
        CUstream_st __nv_dl_tag __nv_hdl_wrapper_t variable_list localalias _object anonymous auto bool char class clone cold const constprop decltype delete double enum false \
        float half int int16_t int32_t int64_t int8_t isra lambda long namespace new nullptr operator part \
        restrict short signed size_t static struct true typename uint16_t uint32_t uint64_t uint8_t unsigned \
        void volatile";
    is_in(WORDS, word)
}

/// Whether this is a suffix by which a compiler marks copies and parts of functions, with a number after it.
pub(super) fn is_clone(word: &str) -> bool {
    is_in(
        "clone cold constprop isra llvm localalias lto_priv part",
        word,
    )
}

/// Words in labels that are followed by the number of a step, a layer, a rank.
pub(super) const COUNTING: &str = "\
    step steps Step iteration Iteration iter epoch epochs Epoch batch minibatch layer layers Layer rank Rank ProfilerStep \
    Region";

pub(super) fn is_counting_word(word: &str) -> bool {
    is_in(COUNTING, word)
}

/// Other words in labels: those of training, and those of torch, its profiler and its compiler.
pub(super) fn is_label_word(word: &str) -> bool {
    const WORDS: &str = "\
        train training eval evaluation validation val test forward backward phase loss zero grad optimizer Optimizer DataLoader enumerate \
        init warmup SGD Adam AdamW Adagrad Adadelta Adamax RMSprop Rprop NAdam RAdam LBFGS ASGD SparseAdam \
        Adafactor Muon Torch Compiled TorchDynamo AOTDispatcher Pregraph bytecode Call \
        CompiledFxGraph CompiledFunction CompiledFunctionBackward CachingAutotuner inductor dynamo timed \
        record param comms nccl gloo aten autograd engine all reduce gather scatter broadcast barrier \
        mallocWithAddress N A parameter gradient state input activation temporary detail unknown call \
        function method module get attr placeholder output root";
    is_in(WORDS, word)
}
