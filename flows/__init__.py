"""Order: which step follows which."""

from pincite.schemas.import_path import put_working_directory_last_in_child

put_working_directory_last_in_child()  # Prefect has put the working directory first, to import a flow
