"""What every test can rely on, however the test run itself was started."""

import signal

from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Take signals back that a job in the background or under nohup inherits as ignored.

    The programs that tests start would inherit that, and ignore what a test sends them.
    """
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
