"""What a person can do wrong, and what the grader itself can."""


class GraderError(Exception):
    """A fault of the grader or of the course's own files. Exit status 3."""

    exit_status = 3


class UsageError(GraderError):
    """A request that cannot be carried out as asked. Exit status 2."""

    exit_status = 2


class CourseError(GraderError):
    """Broken course facts: the message names the file and the key."""
